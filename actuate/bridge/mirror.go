package bridge

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// What is in this file checks that headers of the modern era say the same as the body,
// so that whoever looks at headers alone on the way is not deceived.

// headerParam begins the name of a header that mirrors an argument of a tool.
const headerParam = "Mcp-Param-"

// named gives for each method whose requests have a name in the header the member of
// params that it mirrors.
var named = map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

// checkMirror checks Mcp-Method and Mcp-Name.
func checkMirror(r *http.Request, m rpc.Message) *rpc.Error {
	if method := r.Header.Get(headerMethod); method != m.Method {
		return rpc.Errorf(rpc.CodeHeaderMismatch, "the header Mcp-Method is %q, the body says %q", method, m.Method)
	}
	member, ok := named[m.Method]
	if !ok {
		return nil
	}
	want, _ := rpc.Text(rpc.Get(m.Params, member))
	values := r.Header.Values(headerName)
	if len(values) == 0 {
		return rpc.Errorf(rpc.CodeHeaderMismatch, "the header Mcp-Name is missing")
	}
	if have, ok := headerValue(values[0]); !ok || have != want || len(values) > 1 {
		return rpc.Errorf(rpc.CodeHeaderMismatch, "the header Mcp-Name is %q, the body says %q", values[0], want)
	}
	return nil
}

// headerValue decodes what a header mirrors: as it is, or as =?base64?…?=.
func headerValue(v string) (string, bool) {
	rest, ok := strings.CutPrefix(v, "=?base64?")
	if !ok || !strings.HasSuffix(rest, "?=") {
		return v, true
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(rest, "?="))
	return string(text), err == nil
}

// mirror is an argument of a tool that clients repeat in a header (x-mcp-header).
type mirror struct {
	path   []string
	header string
}

const (
	maxMirrors     = 256 // tools that have some, of one server
	maxSchemaDepth = 16
)

// mirrorsOf finds those of a tool in the schema of its input. They are reached through
// properties alone.
func mirrorsOf(schema json.RawMessage, path []string) (all []mirror) {
	if len(path) > maxSchemaDepth {
		return nil
	}
	for name, property := range rpc.Members(rpc.Get(schema, "properties")) {
		key, _ := rpc.Text(name)
		at := append(path[:len(path):len(path)], key)
		if header, ok := rpc.Text(rpc.Get(property, "x-mcp-header")); ok && header != "" {
			all = append(all, mirror{path: at, header: headerParam + header})
		}
		all = append(all, mirrorsOf(property, at)...)
	}
	return all
}

// checkArguments checks the headers that mirror the arguments of a tool, as far as the
// tool is known.
func (k *keeper) checkArguments(r *http.Request, m rpc.Message) *rpc.Error {
	if m.Method != "tools/call" {
		return nil
	}
	tool, _ := rpc.Text(rpc.Get(m.Params, "name"))
	k.mu.Lock()
	mirrors := k.mirrors[tool]
	k.mu.Unlock()
	arguments := rpc.Get(m.Params, "arguments")
	for _, mi := range mirrors {
		value := rpc.Get(arguments, mi.path...)
		if string(value) == "null" {
			value = nil
		}
		if !mi.matches(r.Header.Values(mi.header), value) {
			return rpc.Errorf(rpc.CodeHeaderMismatch, "the header %s does not say the same as the argument %s", mi.header, strings.Join(mi.path, "."))
		}
	}
	return nil
}

// matches compares a header with the argument: a string as it is, integers as numbers,
// and none if there is no argument.
func (mirror) matches(values []string, argument json.RawMessage) bool {
	if argument == nil || len(values) != 1 {
		return argument == nil && len(values) == 0
	}
	have, ok := headerValue(values[0])
	if text, is := rpc.Text(argument); is {
		return ok && have == text
	}
	if word := string(argument); word == "true" || word == "false" {
		return ok && have == word
	}
	a, errA := strconv.ParseFloat(have, 64)
	b, errB := strconv.ParseFloat(string(argument), 64)
	return ok && errA == nil && errB == nil && a == b && a == math.Trunc(a)
}
