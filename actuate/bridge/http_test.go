//go:build unix

package bridge

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const (
	initBody = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	pingBody = `{"jsonrpc":"2.0","id":"p","method":"ping"}`
)

// TestRules: what is answered to what a client should and should not send.
func TestRules(t *testing.T) {
	g := start(t, "", func(_ *Options, lim *limits) { lim.body = 1 << 20 })
	c := g.client()
	old := g.client(batchVersion)
	const sid = "Mcp-Session-Id"
	tests := []struct {
		name, method, body string
		headers            []string
		status             int
		words              string // in the answer
	}{
		{name: "ping", method: "POST", body: pingBody, headers: []string{sid, c.session}, status: 200, words: `{"jsonrpc":"2.0","id":"p","result":{}}`},
		{name: "no session", method: "POST", body: pingBody, status: 400, words: "Mcp-Session-Id is missing"},
		{name: "unknown session", method: "POST", body: pingBody, headers: []string{sid, "x"}, status: 404, words: "-32001"},
		{name: "no type", method: "POST", body: pingBody, headers: []string{sid, c.session, "Content-Type", ""}, status: 415},
		{name: "form", method: "POST", body: pingBody, headers: []string{sid, c.session, "Content-Type", "text/plain"}, status: 415},
		{name: "charset", method: "POST", body: pingBody, headers: []string{sid, c.session, "Content-Type", "application/json; charset=utf-8"}, status: 200},
		{name: "accepts JSON only", method: "POST", body: pingBody, headers: []string{sid, c.session, "Accept", "application/json"}, status: 406},
		{name: "accepts streams only", method: "POST", body: pingBody, headers: []string{sid, c.session, "Accept", "text/event-stream"}, status: 406},
		{name: "accepts all", method: "POST", body: pingBody, headers: []string{sid, c.session, "Accept", "*/*"}, status: 200},
		{name: "no JSON", method: "POST", body: `{`, headers: []string{sid, c.session}, status: 400, words: "-32700"},
		{name: "no message", method: "POST", body: `{"id":7,"method":"ping"}`, headers: []string{sid, c.session}, status: 400, words: `"id":7,"error":{"code":-32600`},
		{name: "empty batch", method: "POST", body: `[]`, headers: []string{sid, old.session}, status: 400, words: "-32600"},
		{name: "batch in a new revision", method: "POST", body: `[` + pingBody + `]`, headers: []string{sid, c.session}, status: 400, words: "no batches"},
		{name: "batch", method: "POST", body: `[` + pingBody + `,{"jsonrpc":"2.0","method":"notifications/x"},7,` + callBody("1", "echo", "e", 0) + `]`, headers: []string{sid, old.session}, status: 200, words: `{"jsonrpc":"2.0","id":"p","result":{}}`},
		{name: "batch of notifications", method: "POST", body: `[{"jsonrpc":"2.0","method":"notifications/x"}]`, headers: []string{sid, old.session}, status: 202},
		{name: "notification", method: "POST", body: `{"jsonrpc":"2.0","method":"notifications/x"}`, headers: []string{sid, c.session}, status: 202},
		{name: "response to nothing", method: "POST", body: `{"jsonrpc":"2.0","id":5,"result":{}}`, headers: []string{sid, c.session}, status: 202},
		{name: "unknown method", method: "POST", body: `{"jsonrpc":"2.0","id":1,"method":"x"}`, headers: []string{sid, c.session}, status: 200, words: "-32601"},
		{name: "again", method: "POST", body: initBody, headers: []string{sid, c.session}, status: 200, words: "-32600"},
		{name: "initialize without a version", method: "POST", body: `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, status: 400, words: "-32602"},
		{name: "revision", method: "POST", body: pingBody, headers: []string{sid, c.session, "MCP-Protocol-Version", "2025-06-18"}, status: 200},
		{name: "unknown revision", method: "POST", body: pingBody, headers: []string{sid, c.session, "MCP-Protocol-Version", "1900-01-01"}, status: 400, words: "1900-01-01"},
		{name: "large", method: "POST", body: strings.Repeat(" ", 1<<20) + pingBody, headers: []string{sid, c.session}, status: 413},
		{name: "GET without a session", method: "GET", status: 400},
		{name: "GET of an unknown session", method: "GET", headers: []string{sid, "x"}, status: 404},
		{name: "GET that takes no stream", method: "GET", headers: []string{sid, c.session, "Accept", "application/json"}, status: 406},
		{name: "GET from nowhere", method: "GET", headers: []string{sid, c.session, "Last-Event-ID", "9_1"}, status: 400, words: "not kept"},
		{name: "DELETE without a session", method: "DELETE", status: 400},
		{name: "DELETE of an unknown session", method: "DELETE", headers: []string{sid, "x"}, status: 404},
		{name: "PUT", method: "PUT", status: 405},
		{name: "modern GET", method: "GET", headers: []string{"MCP-Protocol-Version", modernVersion}, status: 405},
		{name: "foreign host", method: "POST", body: pingBody, headers: []string{sid, c.session, "Host", "evil.example"}, status: 403},
		{name: "foreign port", method: "POST", body: pingBody, headers: []string{sid, c.session, "Host", "127.0.0.1:1"}, status: 403},
		{name: "foreign page", method: "POST", body: pingBody, headers: []string{sid, c.session, "Origin", "http://evil.example"}, status: 403},
		{name: "page of another port", method: "POST", body: pingBody, headers: []string{sid, c.session, "Origin", "http://localhost:1"}, status: 403},
		{name: "page of no origin", method: "POST", body: pingBody, headers: []string{sid, c.session, "Origin", "null"}, status: 403},
		{name: "own page", method: "POST", body: pingBody, headers: []string{sid, c.session, "Origin", strings.TrimSuffix(g.url, "/mcp")}, status: 200},
		{name: "localhost", method: "POST", body: pingBody, headers: []string{sid, c.session, "Host", strings.Replace(host(g.url), "127.0.0.1", "localhost", 1)}, status: 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := g.request(tt.method, tt.body, tt.headers...)
			if a.status != tt.status || !strings.Contains(a.message(), tt.words) {
				t.Errorf("status %d, %s: want %d and %q", a.status, a.message(), tt.status, tt.words)
			}
		})
	}
	if a := c.request("DELETE", "", sid, c.session); a.status != 204 {
		t.Errorf("DELETE: %d", a.status)
	}
	if a := c.post(pingBody); a.status != 404 {
		t.Errorf("after DELETE: %d", a.status)
	}
}

func host(url string) string { return strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp") }

// TestVersions: a client gets the revision that it asks for, if that is known.
func TestVersions(t *testing.T) {
	g := start(t, "")
	for asked, want := range map[string]string{"2024-11-05": "2024-11-05", "2025-06-18": "2025-06-18", "1999-01-01": latestLegacy, modernVersion: latestLegacy} {
		a := g.request("POST", strings.Replace(initBody, "2025-11-25", asked, 1))
		if !strings.Contains(a.message(), `"protocolVersion":"`+want+`"`) || strings.Contains(a.message(), "tasks") {
			t.Errorf("%s: %s", asked, a.message())
		}
	}
}

// TestToken: who does not show it is not served, and it may change.
func TestToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("secret\n")
	g := start(t, "", func(o *Options, _ *limits) { o.TokenFile = file })
	tests := []struct {
		header string
		status int
	}{
		{"", 401},
		{"secret", 401},
		{"Bearer", 401},
		{"Bearer ", 401},
		{"Bearer secre", 401},
		{"Bearer secret2", 401},
		{"Basic secret", 401},
		{"Bearer secret", 200},
		{"bearer secret", 200},
	}
	for _, tt := range tests {
		if a := g.request("POST", initBody, "Authorization", tt.header); a.status != tt.status {
			t.Errorf("%q: %d, want %d", tt.header, a.status, tt.status)
		}
	}
	write("another-one")
	if a := g.request("POST", initBody, "Authorization", "Bearer secret"); a.status != 401 {
		t.Errorf("the former token: %d", a.status)
	}
	if a := g.request("POST", initBody, "Authorization", "Bearer another-one"); a.status != 200 {
		t.Errorf("the new token: %d", a.status)
	}
	write("")
	if a := g.request("POST", initBody, "Authorization", "Bearer "); a.status != 401 {
		t.Errorf("with an empty file: %d", a.status)
	}
	if err := errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)); err != nil {
		t.Fatal(err)
	}
	if a := g.request("POST", initBody, "Authorization", "Bearer another-one"); a.status != 401 {
		t.Errorf("with a pipe in its place: %d", a.status)
	}
	if log := g.log.String(); strings.Count(log, "no client is let in: cannot use the token file "+file+": it is empty") != 1 ||
		!strings.Contains(log, "not a regular file") || strings.Contains(log, "another") {
		t.Errorf("the log says %q", log)
	}
	if r := g.report(); r.Problem != "" {
		t.Errorf("the health page wants a token, or: %s", r.Problem)
	}
}

const metaBody = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// TestModernRules: the same for clients of the modern era, in front of a server of the
// legacy one.
func TestModernRules(t *testing.T) {
	g := start(t, "")
	body := func(method, params string) string {
		if params != "" {
			params += ","
		}
		return `{"jsonrpc":"2.0","id":"i","method":"` + method + `","params":{` + params + metaBody + `}}`
	}
	const version, method, name = "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"
	echo := body("tools/call", `"name":"echo","arguments":{"text":"e"}`)
	region := body("tools/call", `"name":"echo","arguments":{"text":"e","region":"eü","o":{"n":4}}`)
	eventually(t, func() string { return g.report().Problem })
	if r := g.report(); r.Server == nil || r.Server.Tools != 1 {
		t.Errorf("the first report has no tools: %+v", r.Server)
	}
	tests := []struct {
		name, body string
		headers    []string
		status     int
		words      string
	}{
		{"discover", body("server/discover", ""), []string{version, modernVersion, method, "server/discover"}, 200, `"resultType":"complete"`},
		{"tools", body("tools/list", ""), []string{version, modernVersion, method, "tools/list"}, 200, `"ttlMs":0,"cacheScope":"private"`},
		{"who it is", body("tools/list", ""), []string{version, modernVersion, method, "tools/list"}, 200, `{"io.modelcontextprotocol/serverInfo":{"name":"switches"`},
		{"call", echo, []string{version, modernVersion, method, "tools/call", name, "echo"}, 200, `"text":"e"`},
		{"session is ignored", echo, []string{version, modernVersion, method, "tools/call", name, "echo", "Mcp-Session-Id", "x"}, 200, `"text":"e"`},
		{"encoded name", echo, []string{version, modernVersion, method, "tools/call", name, "=?base64?ZWNobw==?="}, 200, `"text":"e"`},
		{"wrongly encoded name", echo, []string{version, modernVersion, method, "tools/call", name, "=?base64?Z?="}, 400, "-32020"},
		{"no name", echo, []string{version, modernVersion, method, "tools/call"}, 400, "-32020"},
		{"another name", echo, []string{version, modernVersion, method, "tools/call", name, "x"}, 400, "-32020"},
		{"no method", echo, []string{version, modernVersion, name, "echo"}, 400, "-32020"},
		{"another method", echo, []string{version, modernVersion, method, "tools/list", name, "echo"}, 400, "-32020"},
		{"no version", echo, []string{method, "tools/call", name, "echo"}, 400, "-32020"},
		{"another version", echo, []string{version, "2025-11-25", method, "tools/call", name, "echo"}, 400, "-32020"},
		{"unknown version", strings.Replace(echo, modernVersion, "2099-01-01", 1), []string{version, "2099-01-01", method, "tools/call", name, "echo"}, 400, `"supported":["2026-07-28","2025-11-25"`},
		{"no meta", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{version, modernVersion, method, "tools/list"}, 400, "-32602"},
		{"no capabilities", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, []string{version, modernVersion, method, "tools/list"}, 400, "-32602"},
		{"no level", strings.Replace(body("tools/list", ""), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"x",`, 1), []string{version, modernVersion, method, "tools/list"}, 400, "-32602"},
		{"ping", body("ping", ""), []string{version, modernVersion, method, "ping"}, 404, "-32601"},
		{"unknown method", body("x/y", ""), []string{version, modernVersion, method, "x/y"}, 404, "-32601"},
		{"mirrored", region, []string{version, modernVersion, method, "tools/call", name, "echo", "Mcp-Param-Region", "=?base64?ZcO8?=", "Mcp-Param-N", "4.0"}, 200, `"text":"e"`},
		{"mirrored wrongly", region, []string{version, modernVersion, method, "tools/call", name, "echo", "Mcp-Param-Region", "eu", "Mcp-Param-N", "4"}, 400, "-32020"},
		{"another number", region, []string{version, modernVersion, method, "tools/call", name, "echo", "Mcp-Param-Region", "=?base64?ZcO8?=", "Mcp-Param-N", "5"}, 400, "-32020"},
		{"not mirrored", region, []string{version, modernVersion, method, "tools/call", name, "echo", "Mcp-Param-N", "4"}, 400, "-32020"},
		{"mirrors nothing", echo, []string{version, modernVersion, method, "tools/call", name, "echo", "Mcp-Param-N", "4"}, 400, "-32020"},
		{"no filter", body("subscriptions/listen", ""), []string{version, modernVersion, method, "subscriptions/listen"}, 400, "-32602"},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/x"}`, []string{version, modernVersion}, 202, ""},
		{"response", `{"jsonrpc":"2.0","id":1,"result":{}}`, []string{version, modernVersion}, 400, "-32600"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := g.request("POST", tt.body, tt.headers...)
			if a.status != tt.status || !strings.Contains(a.message(), tt.words) {
				t.Errorf("status %d, %s: want %d and %q", a.status, a.message(), tt.status, tt.words)
			}
		})
	}
}
