//go:build unix

package bridge

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/spec"
)

// TestMissed: a client for which more has come than is kept goes on with what there is,
// whether or not it says how far it was.
func TestMissed(t *testing.T) {
	g := start(t, "", func(_ *Options, lim *limits) { lim.streamCount = 3 })
	c, other := g.client(), g.client()
	call := func(id int) {
		if got := said(other.call(fmt.Sprint(id), "log", "warning", 0).message()); got != "warning" {
			t.Fatalf("log: %s", got)
		}
	}
	for id := range 5 {
		call(id)
	}
	l := c.get()
	var ids []string
	for range 3 {
		ids = append(ids, l.next(t).ID)
	}
	l.close()
	for id := range 5 {
		call(id)
	}
	l = c.get("Last-Event-ID", ids[2])
	for range 3 {
		ids = append(ids, l.next(t).ID)
	}
	if got := strings.Join(ids, " "); got != "0_3 0_4 0_5 0_8 0_9 0_10" {
		t.Errorf("heard %s", got)
	}
}

// TestToolsAreCountedAgain: the report knows of tools that have come while the former
// ones were being counted.
func TestToolsAreCountedAgain(t *testing.T) {
	g := start(t, "eager")
	eventually(t, func() string {
		if r := g.report(); r.Server == nil || r.Server.Tools != 3 {
			return fmt.Sprintf("%+v", r.Server)
		}
		return ""
	})
}

// TestAsksAtOnce: what a server asks as soon as it was greeted reaches the client that
// has it started.
func TestAsksAtOnce(t *testing.T) {
	g := start(t, "curious", func(o *Options, _ *limits) { o.Sharing = spec.SharingPerSession })
	eventually(t, func() string { return g.report().Problem })
	before := len(g.report().Findings) // what the rehearsal was asked
	c := g.client()
	m, err := rpc.Parse(c.get().next(t).Data)
	if err != nil || m.Method != "roots/list" {
		t.Fatalf("asked %s: %v", m.Bytes(), err)
	}
	c.post(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"roots":[]}}`)
	if got := said(c.call("1", "told", "", 0).message()); got != `{"roots":[]}` {
		t.Errorf("the server was told %s", got)
	}
	if all := g.report().Findings; len(all) != before {
		t.Errorf("findings: %q", all)
	}
}

// away is a session of a server that has died and is not started again for a time.
func away(t *testing.T, pause time.Duration) (*client, *session) {
	t.Helper()
	g := start(t, "", func(o *Options, lim *limits) {
		o.Backoff.Initial, o.Backoff.Max, lim.patience = spec.Duration(pause), spec.Duration(pause), 2*pause
	})
	c := g.client()
	for range 2 { // it is started again at once the first time
		c.call("0", "exit", "", 3)
	}
	g.b.mu.Lock()
	defer g.b.mu.Unlock()
	return c, g.b.sessions[c.session]
}

// asks sends a request, and waits until the session has it.
func (c *client) asks(s *session, body string) <-chan *answerOf {
	c.t.Helper()
	answered := make(chan *answerOf, 1)
	go func() { answered <- c.post(body) }()
	eventually(c.t, func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.calls) != 1 {
			return "it has not come"
		}
		return ""
	})
	return answered
}

// TestCancelsWhatWasNotSent: the server never hears of it, and the client has its answer
// at once.
func TestCancelsWhatWasNotSent(t *testing.T) {
	c, s := away(t, time.Hour)
	answered := c.asks(s, callBody("1", "echo", "e", 0))
	c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if got := (<-answered).message(); !strings.Contains(got, `"id":1,`) || !strings.Contains(got, "was cancelled") {
		t.Errorf("answered %s", got)
	}
}

// TestEndOfASessionAnswers: what a client has asked before it ends its session is
// answered, whether the server has it or not.
func TestEndOfASessionAnswers(t *testing.T) {
	c, s := away(t, time.Hour)
	running := start(t, "").client()
	running.b.mu.Lock()
	own := running.b.sessions[running.session]
	running.b.mu.Unlock()
	for s, c := range map[*session]*client{s: c, own: running} {
		answered := c.asks(s, callBody("1", "never", "", 0))
		c.request("DELETE", "", "Mcp-Session-Id", c.session)
		if got := (<-answered).message(); !strings.Contains(got, `"id":1,`) || !strings.Contains(got, "the session has ended") {
			t.Errorf("answered %q", got)
		}
	}
}

// TestSubscribesTooLate: a session that ends before its subscription is made leaves none
// behind.
func TestSubscribesTooLate(t *testing.T) {
	c, s := away(t, time.Second)
	topics := &s.k.topics
	answered := c.asks(s, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://a"}}`)
	c.post(`{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"test://a"}}`)
	<-answered
	topics.mu.Lock()
	defer topics.mu.Unlock()
	if len(topics.byURI) > 0 {
		t.Errorf("%d subscriptions are left", len(topics.byURI))
	}
}

// TestLevelOfAnEarlyClient: a server is set to what a client wants that comes before it
// can be used.
func TestLevelOfAnEarlyClient(t *testing.T) {
	asked := filepath.Join(t.TempDir(), "asked")
	g := start(t, "oneatatime,listless="+asked)
	awaitMark(t, asked)
	body := strings.Replace(callBody("1", "notes", "", 0), `"_meta":{`, metaBody[:len(metaBody)-1]+`,"`+metaLogLevel+`":"debug",`, 1)
	a := g.request("POST", body, "Mcp-Protocol-Version", modernVersion, "Mcp-Method", "tools/call", "Mcp-Name", "notes")
	if got := said(a.message()); !strings.Contains(got, "level:debug") {
		t.Errorf("the server has heard %s", got)
	}
}

// TestStopSaysSo: who begins a session is told that it is being stopped.
func TestStopSaysSo(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	g := start(t, "picky,mark="+starts, func(o *Options, _ *limits) { o.Sharing = spec.SharingPerSession })
	eventually(t, func() string { return g.report().Problem })
	answered := make(chan *answerOf, 1)
	go func() { answered <- g.request("POST", helloOf("silent")) }()
	eventually(t, func() string {
		if marked(t, starts) != "xx" {
			return "the server of the session was not started"
		}
		return ""
	})
	if err := g.stop(); err != nil {
		t.Errorf("stopped with %v", err)
	}
	if a := <-answered; a.status != 503 || !strings.Contains(a.message(), "the server is being stopped") {
		t.Errorf("answered %d %s", a.status, a.message())
	}
}
