package door

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// meta is what makes a message one of the modern era.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`

func peek(r *http.Request) string {
	body := make([]byte, r.ContentLength)
	_, _ = readFull(r, body)
	r.Body = http.NoBody
	if len(body) > 0 {
		r.Body = readCloser{strings.NewReader(string(body))}
	}
	return string(body)
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// Headers repeat what is in the message.
func TestMirroredHeaders(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if m, ok := post(w, r); ok {
			h := r.Header
			reply(w, m.ID, fmt.Sprintf("%q", h.Get("Mcp-Protocol-Version")+" "+h.Get("Mcp-Method")+" "+h.Get("Mcp-Name")+" "+h.Get("Mcp-Session-Id")))
		}
	})
	c := open(t, at(s))
	for _, tt := range []struct{ method, params, want string }{
		{"server/discover", `{` + meta + `}`, `"2026-07-28 server/discover  "`},
		{methodCallTool, `{"name":"a b",` + meta + `}`, `"2026-07-28 tools/call a b "`},
		{methodCallTool, `{"name":"größe",` + meta + `}`, `"2026-07-28 tools/call =?base64?Z3LDtsOfZQ==?= "`},
		{methodCallTool, `{"name":" x",` + meta + `}`, `"2026-07-28 tools/call =?base64?IHg=?= "`},
		{methodGetPrompt, `{"name":"=?base64?x?=",` + meta + `}`, `"2026-07-28 prompts/get =?base64?PT9iYXNlNjQ/eD89?= "`},
		{methodReadResource, `{"uri":"file:///x","name":"no",` + meta + `}`, `"2026-07-28 resources/read file:///x "`},
		{methodCallTool, `{"name":"old"}`, `"   "`},
	} {
		c.request("1", tt.method, tt.params)
		if got := c.result("1"); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.method, tt.params, got, tt.want)
		}
	}
	c.close()
}

// Parameters of a tool are repeated where its schema says so, also where the client
// has not asked for the tools in this run.
func TestParameterHeaders(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		m, ok := post(w, r)
		switch {
		case !ok:
		case m.Method == methodListTools:
			reply(w, m.ID, `{"tools":[{"name":"q","inputSchema":{"properties":{"region":{"type":"string","x-mcp-header":"Region"},
				"deep":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"bad":{"x-mcp-header":"a b"}}}}],"nextCursor":""}`)
		case r.Header.Get("Mcp-Param-Region") == "":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32020,"message":"Mcp-Param-Region is missing"}}`, m.ID)
		default:
			reply(w, m.ID, fmt.Sprintf("%q", r.Header.Get("Mcp-Param-Region")+" "+r.Header.Get("Mcp-Param-N")))
		}
	})
	c := open(t, at(s))
	call := `{"name":"q","arguments":{"region":"us-west1","deep":{"n":42},"bad":"x"},` + meta + `}`
	for range 2 {
		c.request("1", methodCallTool, call)
		if got := c.result("1"); got != `"us-west1 42"` {
			t.Errorf("headers %s", got)
		}
	}
	c.request("2", methodCallTool, `{"name":"q","arguments":{"region":null},`+meta+`}`)
	if e := c.fails("2", "Mcp-Param-Region is missing"); e.Code != rpc.CodeHeaderMismatch {
		t.Errorf("code %d", e.Code)
	}
	c.close()
}

// In the modern era a request is cancelled by ending it.
func TestCancellationModern(t *testing.T) {
	here, gone := make(chan struct{}), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		m, ok := post(w, r)
		switch {
		case m.Method == methodCancelled:
			t.Error("notifications/cancelled came over HTTP")
		case ok && m.Method == methodCallTool:
			push(w, "", `{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`)
			close(here)
			<-r.Context().Done()
			close(gone)
		case ok:
			reply(w, m.ID, `{}`)
		}
	})
	c := open(t, at(s))
	c.request("1", methodCallTool, `{"name":"x",`+meta+`}`)
	<-here
	c.next()
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,` + meta + `}}`)
	<-gone
	c.request("1", "server/discover", `{`+meta+`}`) // its id is free again
	c.result("1")
	c.close()
}

// A subscription outlives the server: it is made again, and the client is told that
// something may have changed. At the end of standard input it is given up.
func TestSubscriptionIsRenewed(t *testing.T) {
	streams := make(chan chan struct{}, 2)
	handler := func(w http.ResponseWriter, r *http.Request) {
		m, ok := post(w, r)
		if !ok {
			return
		}
		push(w, "", `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}`)
		end := make(chan struct{})
		streams <- end
		select {
		case <-end:
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
		}
		_ = m
	}
	one, two := serve(t, handler), serve(t, handler)
	var where moving
	where.move(one.URL, nil)
	c := open(t, where.endpoint)
	c.request("5", methodListen, `{"notifications":{"toolsListChanged":true},`+meta+`}`)
	if m := c.next(); m.Method != methodAcknowledged {
		t.Fatalf("got %s", m.Bytes())
	}
	where.move(two.URL, nil)
	close(<-streams)
	one.Close()
	m := c.next()
	if m.Method != "notifications/tools/list_changed" || string(rpc.Get(m.Params, "_meta", "io.modelcontextprotocol/subscriptionId")) != "5" {
		t.Errorf("got %s", m.Bytes())
	}
	<-streams
	c.close()
}

// A server of the other era that begins a session all the same is rid of it.
func TestStraySession(t *testing.T) {
	ended := make(chan string, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			ended <- r.Header.Get("Mcp-Session-Id")
			return
		}
		if m, ok := post(w, r); ok {
			w.Header().Set("Mcp-Session-Id", "stray")
			reply(w, m.ID, `{}`)
		}
	})
	c := open(t, at(s))
	c.request("1", "server/discover", `{`+meta+`}`)
	c.result("1")
	if got := <-ended; got != "stray" {
		t.Errorf("session %q was ended", got)
	}
	c.close()
}

// Many at once, answered in any order: each has its own answer.
func TestManyAtOnce(t *testing.T) {
	const calls = 1000
	var mu sync.Mutex
	most, now := 0, 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		m, ok := post(w, r)
		if !ok {
			return
		}
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		if rpc.KeyOf(m.ID)[0]%2 == 0 {
			push(w, "", fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":%s}`, m.ID))
			push(w, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, m.Params))
		} else {
			reply(w, m.ID, string(m.Params))
		}
		mu.Lock()
		now--
		mu.Unlock()
	})
	c := open(t, at(s), within(time.Minute))
	go func() {
		for i := range calls {
			fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x","n":%d,%s}}`+"\n", i, i, meta)
		}
		c.in.Close()
	}()
	seen := map[string]bool{}
	for len(seen) < calls {
		m := c.next()
		if !m.Response() {
			continue
		}
		if n := string(rpc.Get(m.Result, "n")); n != string(m.ID) || seen[n] {
			t.Fatalf("got %s", m.Bytes())
		}
		seen[string(m.ID)] = true
	}
	c.ends()
	if most > maxCalls {
		t.Errorf("%d calls were under way at a time", most)
	}
}
