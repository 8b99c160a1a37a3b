package door

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// nobody is where nobody listens (tcpmux, which is in no use any more): a port that was
// free a moment ago may be somebody's by now.
const nobody = "http://127.0.0.1:1/mcp"

// A server that is not there: each request is answered with what is wrong, at once,
// and the first line of standard error says it before anything is asked. When the
// server has come it is found.
func TestNotThere(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if m, ok := post(w, r); ok {
			reply(w, m.ID, `"here"`)
		}
	})
	var where moving
	where.move("", errors.New("no MCPServer named flies (did you mean files?)"))
	c := open(t, where.endpoint)
	c.says("no MCPServer named flies (did you mean files?)")
	for range 3 {
		c.request("1", methodInitialize, `{}`)
		c.fails("1", "no MCPServer named flies (did you mean files?)")
	}
	if len(c.said) != 1 {
		t.Errorf("it said %q", c.said)
	}
	where.move(s.URL, nil)
	c.request("2", methodPing, `{}`)
	if got := c.result("2"); got != `"here"` {
		t.Errorf("result %s", got)
	}
	c.close()
}

// A server that does not come is waited for, by all at the same time, and later
// requests do not wait again.
func TestPatience(t *testing.T) {
	for name, tt := range map[string]struct {
		where *moving
		text  string
	}{
		"coming":  {&moving{err: &Coming{errors.New("mcpserver/x is starting")}}, "mcpserver/x is starting"},
		"refused": {&moving{to: Endpoint{URL: nobody}}, "nobody listens there"},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, tt.where.endpoint, within(300*time.Millisecond))
			began := time.Now()
			for i := range 10 {
				c.request(fmt.Sprint(i), methodCallTool, `{"name":"x"}`)
			}
			for range 10 {
				if m := c.next(); m.Error == nil {
					t.Errorf("got %s", m.Bytes())
				}
			}
			if waited := time.Since(began); waited < 300*time.Millisecond {
				t.Errorf("it waited for %v", waited)
			}
			c.request("1", methodCallTool, `{"name":"x"}`)
			c.fails("1", tt.text) // soon: it is asked for once
			c.close()
		})
	}
}

// A server that listens a little later gets what was sent.
func TestComesLater(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if m, ok := post(w, r); ok {
			reply(w, m.ID, `{}`)
		}
	})
	var where moving
	where.move(nobody, nil)
	c := open(t, where.endpoint)
	c.request("1", methodCallTool, `{"name":"x"}`)
	c.says("nobody listens there")
	where.move(s.URL, nil)
	c.result("1")
	c.close()
}

// A server that is being stopped begins no session: the next one does. One that stays,
// and is full perhaps, is asked twice.
func TestBeginsNoSession(t *testing.T) {
	next := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if m, ok := post(w, r); ok {
			reply(w, m.ID, `"next"`)
		}
	})
	var where moving
	var asked atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		m, ok := post(w, r)
		if !ok {
			return
		}
		if asked.Add(1) == 3 {
			where.move("", &Coming{errors.New("it is on its way")})
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		e := rpc.Errorf(rpc.CodeServer, "no session now").Response(m.ID)
		_, _ = w.Write(e.Bytes())
	})
	where.move(s.URL, nil)
	c := open(t, where.endpoint)
	c.request("1", methodInitialize, `{}`)
	c.fails("1", "no session now")
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
	c.request("2", methodInitialize, `{}`)
	c.says("it is on its way")
	where.move(next.URL, nil)
	if got := c.result("2"); got != `"next"` {
		t.Errorf("result %s", got)
	}
	c.close()
}

// Whatever a server answers, the client has an answer.
func TestBadAnswers(t *testing.T) {
	const js, es = "application/json", "text/event-stream"
	for name, tt := range map[string]struct {
		status     int
		kind, body string
		code       int
		texts      []string
	}{
		"a page":         {200, "text/html", "<html>", rpc.CodeServer, []string{"neither JSON nor an event stream", "text/html"}},
		"no JSON":        {200, js, "what?", rpc.CodeServer, []string{"cannot read the answer", "what?"}},
		"half":           {200, js, `{"jsonrpc":"2.0","id":1,"res`, rpc.CodeServer, []string{"no JSON"}},
		"empty":          {200, js, "", rpc.CodeServer, []string{"cannot read the answer"}},
		"another id":     {200, js, `{"jsonrpc":"2.0","id":2,"result":{}}`, rpc.CodeServer, []string{"it has none"}},
		"no id":          {200, js, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"bad"}}`, rpc.CodeInvalidRequest, []string{"bad"}},
		"other JSON":     {200, js, `{"status":"ok"}`, rpc.CodeServer, []string{"2.0"}},
		"accepted":       {202, "", "", rpc.CodeServer, []string{"status 202"}},
		"empty stream":   {200, es, "", rpc.CodeServer, []string{"went away"}},
		"broken event":   {200, es, "data: {\n\n", rpc.CodeServer, []string{"no JSON"}},
		"a batch":        {200, js, `[{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"in a list"}}]`, -1, []string{"in a list"}},
		"forbidden":      {403, "text/plain", "not\nyou", rpc.CodeServer, []string{"refuses tools/call: 403 Forbidden: not"}},
		"unauthorized":   {401, "", "", rpc.CodeServer, []string{"401 Unauthorized"}},
		"not found":      {404, "text/plain", "Cannot POST /mcp", rpc.CodeServer, []string{"404 Not Found: Cannot POST /mcp"}},
		"no method":      {404, js, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}`, -32601, []string{"no such method"}},
		"version":        {400, js, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":[]}}}`, -32022, []string{"no"}},
		"broken":         {500, "text/plain", "oops", rpc.CodeServer, []string{"500 Internal Server Error: oops"}},
		"elsewhere":      {307, "", "", rpc.CodeServer, []string{"307 Temporary Redirect"}},
		"result twice":   {200, es, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"first\"}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":2}\n\n", -1, []string{"first"}},
		"pretty-printed": {200, js, "{\n \"jsonrpc\": \"2.0\",\n \"id\": 1,\n \"error\": {\n \"code\": -1,\n \"message\": \"lines\"}\n}\n", -1, []string{"lines"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if _, ok := post(w, r); !ok {
					return
				}
				w.Header()["Content-Type"] = []string{tt.kind}
				w.Header().Set("Location", "http://192.0.2.1/")
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			})
			c := open(t, at(s))
			c.request("1", methodCallTool, `{"name":"x"}`)
			if e := c.fails("1", tt.texts...); e.Code != tt.code {
				t.Errorf("code %d, want %d", e.Code, tt.code)
			}
			c.request("2", methodPing, `{}`)
			if m := c.next(); string(m.ID) != "2" {
				t.Errorf("got %s", m.Bytes())
			}
			c.close()
		})
	}
}

// A redirection to another path of the same server is followed.
func TestRedirection(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
			return
		}
		if m, ok := post(w, r); ok {
			reply(w, m.ID, `{}`)
		}
	})
	c := open(t, at(s))
	c.request("1", methodCallTool, `{"name":"x"}`)
	c.result("1")
	c.close()
}

// A token that has changed is looked up again.
func TestToken(t *testing.T) {
	token := "new"
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if m, ok := post(w, r); ok {
			reply(w, m.ID, `{}`)
		}
	})
	given := make(chan string, 3)
	given <- "old"
	given <- "new"
	given <- "new"
	c := open(t, func(context.Context) (Endpoint, error) { return Endpoint{URL: s.URL, Token: <-given}, nil })
	c.request("1", methodCallTool, `{"name":"x"}`)
	c.result("1")
	c.close()
}

// What is no message is answered as JSON-RPC wants it, and the rest goes on.
func TestBadLines(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if m, ok := post(w, r); ok && m.Method != "wait" {
			reply(w, m.ID, `{}`)
		} else if ok {
			<-r.Context().Done()
		}
	})
	c := open(t, at(s))
	for _, tt := range []struct {
		line, id string
		code     int
	}{
		{"hello", "null", rpc.CodeParse},
		{`{"jsonrpc":"2.0","id":1`, "null", rpc.CodeParse},
		{`{"id":1,"method":"ping"}`, "1", rpc.CodeInvalidRequest},
		{`[]`, "null", rpc.CodeInvalidRequest},
		{`7`, "null", rpc.CodeInvalidRequest},
	} {
		c.send("%s", tt.line)
		if e := c.fails(tt.id); e.Code != tt.code {
			t.Errorf("%s: code %d, want %d", tt.line, e.Code, tt.code)
		}
	}
	c.request("1", "wait", `{`+meta+`}`)
	c.request("1", "ping", `{`+meta+`}`)
	c.fails("1", "has no answer yet")
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"x":"%s"}}`, bytes.Repeat([]byte("x"), maxMessage))
	if e := c.fails("null", "longer than is taken"); e.Code != rpc.CodeInvalidRequest {
		t.Errorf("code %d", e.Code)
	}
	c.request("3", "ping", `{}`)
	c.result("3")
	c.close()
}

// The end of standard input is waited out by what is under way, for a while.
func TestEndOfInput(t *testing.T) {
	hold := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		m, ok := post(w, r)
		if !ok {
			return
		}
		if m.Method == "slow" {
			<-hold
		}
		if m.Method == "never" {
			<-r.Context().Done()
			return
		}
		reply(w, m.ID, `{}`)
	})
	c := open(t, at(s))
	c.request("1", "slow", `{}`)
	c.in.Close()
	close(hold)
	c.result("1")
	c.ends()

	c = open(t, at(s), within(100*time.Millisecond))
	c.request("1", "never", `{}`)
	c.close()
	c.says("what is not answered after 100ms is given up")
}

// A client that never reads holds up nobody but itself, and a stop all the same ends.
func TestClientThatNeverReads(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if m, ok := post(w, r); ok {
			reply(w, m.ID, `{}`)
		}
	})
	in, toDoor := net.Pipe()
	out, fromDoor := net.Pipe() // nobody reads
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, Options{Endpoint: at(s), In: in, Out: out, Log: t.Logf})
	}()
	for i := range 2 * maxCalls {
		fmt.Fprintf(toDoor, `{"jsonrpc":"2.0","id":%d,"method":"ping","params":{}}`+"\n", i)
	}
	end()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(soon):
		t.Error("it does not end")
	}
	fromDoor.Close()
	toDoor.Close()
}

// A client that has gone is the end.
func TestClientGone(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if m, ok := post(w, r); ok {
			reply(w, m.ID, `{}`)
		}
	})
	in, toDoor := net.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Run(t.Context(), Options{Endpoint: at(s), In: in, Out: brokenPipe{}, Log: t.Logf})
	}()
	fmt.Fprintln(toDoor, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if err := <-done; err != nil {
		t.Error(err)
	}
	toDoor.Close()
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
