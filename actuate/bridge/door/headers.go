package door

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// The headers that repeat, from revision 2026-07-28 on, what is in the message.
const (
	headerMethod = "Mcp-Method"
	headerName   = "Mcp-Name"
	headerParam  = "Mcp-Param-"
)

// metaRevision is where a message of the modern era names its revision.
const metaRevision = "io.modelcontextprotocol/protocolVersion"

// annotation marks, in the schema of a tool's input, a parameter that is repeated in a
// header.
const annotation = "x-mcp-header"

const (
	// maxTools bounds the tools whose parameters are known to be repeated.
	maxTools = 4096
	// maxDepth bounds how deep a schema is looked into.
	maxDepth = 16
)

// revisionOf is the revision that a message names, of the modern era; empty in the
// legacy one, where the session says it.
func revisionOf(m rpc.Message) string {
	v, _ := rpc.Text(rpc.Get(m.Params, "_meta", metaRevision))
	return v
}

// paramHeaders are the parameters of tools that are repeated in headers.
type paramHeaders struct {
	mu    sync.Mutex
	tools map[string][]binding
}

// binding is one of them: where it lies in the arguments, and the header's name.
type binding struct {
	path   []string
	header string
}

// learn reads a list of tools.
func (p *paramHeaders) learn(result json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tools) == 0 && !bytes.Contains(result, []byte(annotation)) {
		return // as nearly always
	}
	if p.tools == nil {
		p.tools = map[string][]binding{}
	}
	for tool := range rpc.Items(rpc.Get(result, "tools")) {
		name, _ := rpc.Text(rpc.Get(tool, "name"))
		delete(p.tools, name)
		found := bindings(nil, nil, rpc.Get(tool, "inputSchema"))
		if len(found) > 0 && len(p.tools) < maxTools {
			p.tools[name] = found
		}
	}
}

// bindings adds what the properties of a schema say. Only through properties is a
// parameter reached.
func bindings(all []binding, path []string, schema json.RawMessage) []binding {
	if len(path) >= maxDepth {
		return all
	}
	for quoted, property := range rpc.Members(rpc.Get(schema, "properties")) {
		name, _ := rpc.Text(quoted)
		at := append(append([]string(nil), path...), name)
		if header, ok := rpc.Text(rpc.Get(property, annotation)); ok && isToken(header) {
			all = append(all, binding{at, header})
		}
		all = bindings(all, at, property)
	}
	return all
}

// isToken says that s may be (a part of) the name of a header (RFC 9110, 5.1).
func isToken(s string) bool {
	for _, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// mirror adds the headers that repeat what is in a message of the modern era.
func (p *paramHeaders) mirror(h http.Header, m rpc.Message, revision string) {
	h.Set(headerRevision, headerValue(revision))
	h.Set(headerMethod, headerValue(m.Method))
	field := "name"
	switch m.Method {
	case methodReadResource:
		field = "uri"
	case methodCallTool, methodGetPrompt:
	default:
		return
	}
	name, ok := rpc.Text(rpc.Get(m.Params, field))
	if !ok {
		return
	}
	h.Set(headerName, headerValue(name))
	if m.Method != methodCallTool {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.tools[name] {
		if value, ok := primitive(rpc.Get(m.Params, append([]string{"arguments"}, b.path...)...)); ok {
			h.Set(headerParam+b.header, headerValue(value))
		}
	}
}

// primitive writes a string, an integer or a truth value as a header has it.
func primitive(value json.RawMessage) (string, bool) {
	if s, ok := rpc.Text(value); ok {
		return s, true
	}
	text := string(value)
	if text == "true" || text == "false" {
		return text, true
	}
	n, ok := rpc.Number(value)
	if !ok || n > 1<<53-1 || n < -(1<<53-1) {
		return "", false
	}
	return text, true
}

// The marks of a value that is written in base64.
const encodedFrom, encodedTo = "=?base64?", "?="

// headerValue writes what is no plain text of ASCII, or could be taken for such a
// value, in base64.
func headerValue(s string) string {
	plain := strings.TrimSpace(s) == s && (!strings.HasPrefix(s, encodedFrom) || !strings.HasSuffix(s, encodedTo))
	for _, c := range []byte(s) {
		plain = plain && (' ' <= c && c <= '~' || c == '\t')
	}
	if plain {
		return s
	}
	return encodedFrom + base64.StdEncoding.EncodeToString([]byte(s)) + encodedTo
}
