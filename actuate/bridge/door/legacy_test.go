package door

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// A whole life: the handshake, a call, what the server says by itself, the end.
func TestLegacySession(t *testing.T) {
	l := newLegacy("a")
	s := serve(t, l.ServeHTTP)
	c := open(t, at(s))
	c.greet()
	c.request("1", methodCallTool, `{"name":"x"}`)
	if got := c.result("1"); got != `{"by":"a","method":"tools/call"}` {
		t.Errorf("result %s", got)
	}
	<-l.streams
	l.events <- `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"hi"}}`
	if m := c.next(); m.Method != "notifications/message" {
		t.Errorf("got %s", m.Bytes())
	}
	c.close()
	log := l.log()
	for _, want := range []string{"POST initialize", "POST notifications/initialized a-1", "POST tools/call a-1", "GET  a-1", "DELETE  a-1"} {
		if !slices.Contains(log, want) {
			t.Errorf("the server got %q: %q is missing", log, want)
		}
	}
}

// What a shell pipes in at once is sent in its order.
func TestPipelined(t *testing.T) {
	l := newLegacy("a")
	s := serve(t, l.ServeHTTP)
	c := open(t, at(s))
	c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\r\n\n" +
		`[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":"1","method":"ping"}]`)
	c.in.Close()
	c.result("0")
	got := map[string]string{}
	for range 2 {
		m := c.next()
		got[string(m.ID)] = string(m.Result)
	}
	if got["1"] != `{"by":"a","method":"tools/list"}` || got[`"1"`] != `{"by":"a","method":"ping"}` {
		t.Errorf("results %q", got)
	}
	c.ends()
	if log := l.log(); log[0] != "POST initialize" || log[1] != "POST notifications/initialized a-1" {
		t.Errorf("the server got %q", log)
	}
}

// A server that takes another's place, elsewhere, is told what the client has said,
// and the client is told that the lists may have changed.
func TestReplacement(t *testing.T) {
	first, second, c := openBetween(t)
	c.request("1", methodSubscribe, `{"uri":"file:///x"}`)
	c.result("1")
	c.request("2", methodSetLevel, `{"level":"debug"}`)
	c.result("2")
	c.request("3", methodCallTool, `{"name":"slow"}`)
	until(t, "the call is there", func() bool { return slices.Contains(first.log(), "POST tools/call a-1") })

	c.where.move("", &Coming{errors.New("mcpserver/x is starting")})
	first.goAway()
	c.fails("3", "went away before it answered tools/call", "may have carried out")
	c.request("4", methodCallTool, `{"name":"x"}`)
	c.says("mcpserver/x is starting")
	c.where.move(second.url(), nil)
	if m := c.next(); m.Method != "notifications/tools/list_changed" {
		t.Errorf("got %s", m.Bytes())
	}
	if got := c.result("4"); got != `{"by":"b","method":"tools/call"}` {
		t.Errorf("result %s", got)
	}
	c.says("the server answers at " + second.url())
	c.close()
	want := []string{"POST initialize", "POST notifications/initialized b-1", "POST logging/setLevel b-1", "POST resources/subscribe b-1"}
	if log := second.log(); !slices.Equal(log[:4], want) {
		t.Errorf("the second server got %q, want %q first", log, want)
	}
}

// A session that the server has forgotten is begun anew, and the call in it is made
// again: with 404, as the specification has it, or with 400, as some servers do.
func TestForgottenSession(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			l := newLegacy("a")
			l.status = status
			s := serve(t, l.ServeHTTP)
			c := open(t, at(s))
			c.greet()
			<-l.streams
			l.forget()
			c.request("1", methodCallTool, `{"name":"x"}`)
			if m := c.next(); m.Method != "notifications/tools/list_changed" {
				t.Errorf("got %s", m.Bytes())
			}
			c.result("1")
			c.close()
		})
	}
}

// A server that forgets every session at once is not asked for ever.
func TestSessionOfNoUse(t *testing.T) {
	l := newLegacy("a")
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			defer l.forget()
		}
		l.ServeHTTP(w, r)
	})
	c := open(t, at(s))
	c.request("0", methodInitialize, `{"protocolVersion":"2025-06-18"}`)
	c.result("0")
	c.request("1", methodCallTool, `{"name":"x"}`)
	c.fails("1", "does not know the session any more", "no such session")
	c.close()
}

// 400 in a session that lives is what the server says to this message.
func TestBadRequestInSession(t *testing.T) {
	l := newLegacy("a")
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 0 {
			if body := peek(r); strings.Contains(body, `"bad"`) {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"bad, bad","data":[1]}}`)
				return
			}
		}
		l.ServeHTTP(w, r)
	})
	c := open(t, at(s))
	c.greet()
	c.request("7", methodCallTool, `{"name":"bad"}`)
	if e := c.fails("7", "bad, bad"); e.Code != rpc.CodeInvalidParams || string(e.Data) != "[1]" {
		t.Errorf("error %+v", e)
	}
	c.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made != 1 {
		t.Errorf("%d sessions were begun", l.made)
	}
}

// A request that the server may have carried out is not made again; one that changes
// nothing is.
func TestNoAnswer(t *testing.T) {
	var tries sync.Map
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		m, ok := post(w, r)
		if !ok {
			return
		}
		if _, again := tries.LoadOrStore(m.Method, true); !again {
			panic(http.ErrAbortHandler)
		}
		reply(w, m.ID, `"second"`)
	})
	c := open(t, at(s))
	c.request("1", methodCallTool, `{"name":"x"}`)
	c.fails("1", "went away before it answered tools/call", "closed the connection")
	c.request("2", methodListTools, `{}`)
	if got := c.result("2"); got != `"second"` {
		t.Errorf("result %s", got)
	}
	c.close()
}

// Requests of the server reach the client, and answers the server that has asked. One
// that was meant for a former server reaches nobody, although the ids are the same.
func TestQuestionsOfTheServer(t *testing.T) {
	first, second, c := openBetween(t)
	c.request("1", methodCallTool, `{"name":"asks"}`)
	if m := c.next(); m.Method != "elicitation/create" || string(m.ID) != "1" {
		t.Fatalf("got %s", m.Bytes())
	}
	c.send(`{"jsonrpc":"2.0","id":1,"result":"yes"}`)
	if got := c.result("1"); got != `{"jsonrpc":"2.0","id":1,"result":"yes"}` {
		t.Errorf("result %s", got)
	}

	c.request("2", methodCallTool, `{"name":"asks"}`)
	c.next()
	c.where.move(second.url(), nil)
	first.goAway()
	seen := map[string]bool{}
	for range 3 { // in any order
		m := c.next()
		seen[m.Method] = true
		if m.Method == methodCancelled && string(rpc.Get(m.Params, "requestId")) != "1" {
			t.Errorf("got %s", m.Bytes())
		}
		if m.Response() && string(m.ID) != "2" {
			t.Errorf("got %s", m.Bytes())
		}
	}
	if !seen[methodCancelled] || !seen["notifications/tools/list_changed"] || !seen[""] {
		t.Fatalf("got %v", seen)
	}
	c.request("3", methodCallTool, `{"name":"asks"}`)
	q := c.next()
	if string(q.ID) == "1" {
		t.Fatalf("got %s: the id of the former server", q.Bytes())
	}
	c.send(`{"jsonrpc":"2.0","id":1,"result":"too late"}`)
	c.send(`{"jsonrpc":"2.0","id":%s,"result":"in time"}`, q.ID)
	if got := c.result("3"); got != `{"jsonrpc":"2.0","id":1,"result":"in time"}` {
		t.Errorf("result %s", got)
	}
	c.close()
}

// A cancelled call is cancelled at the server, and needs no answer.
func TestCancellationLegacy(t *testing.T) {
	l := newLegacy("a")
	s := serve(t, l.ServeHTTP)
	c := open(t, at(s))
	c.greet()
	c.request("1", methodCallTool, `{"name":"slow"}`)
	until(t, "the call is there", func() bool { return slices.Contains(l.log(), "POST tools/call a-1") })
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`)
	until(t, "the cancellation is there", func() bool { return slices.Contains(l.log(), "POST notifications/cancelled a-1") })
	c.request("2", methodPing, `{}`)
	c.result("2")
	c.close() // and does not wait for long
	n := 0
	for _, got := range l.log() {
		if strings.Contains(got, "cancelled") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d cancellations reached the server", n)
	}
}

// A second handshake ends the first session.
func TestSecondHandshake(t *testing.T) {
	l := newLegacy("a")
	s := serve(t, l.ServeHTTP)
	c := open(t, at(s))
	c.greet()
	c.greet()
	c.request("1", methodPing, `{}`)
	c.result("1")
	until(t, "the first session is ended", func() bool { return slices.Contains(l.log(), "DELETE  a-1") })
	c.close()
}

// A stream that breaks off, or that the server ends for now, is taken up again.
func TestResumedAnswer(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			mu.Lock()
			asked = append(asked, r.Header.Get("Last-Event-Id"))
			n := len(asked)
			mu.Unlock()
			if n < 3 {
				push(w, fmt.Sprintf("e%d", n+1), `{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`)
				return
			}
			push(w, "", `{"jsonrpc":"2.0","id":1,"result":"at last"}`)
			return
		}
		if m, ok := post(w, r); ok && m.Method == methodCallTool {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write(rpc.Event{ID: "e1", Data: []byte{}, Retry: time.Millisecond}.Append(nil))
		}
	})
	c := open(t, at(s))
	c.request("1", methodCallTool, `{"name":"x"}`)
	for range 2 {
		if m := c.next(); m.Method != "notifications/progress" {
			t.Errorf("got %s", m.Bytes())
		}
	}
	if got := c.result("1"); got != `"at last"` {
		t.Errorf("result %s", got)
	}
	c.close()
	if fmt.Sprint(asked) != "[e1 e2 e3]" {
		t.Errorf("it was taken up after %v", asked)
	}
}
