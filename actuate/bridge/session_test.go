//go:build unix

package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/spec"
)

// listening is a stream that a client reads in the background.
type listening struct {
	status int
	close  func()
	events chan rpc.Event // closed at the end
}

// listen opens a stream, and reads it until it is closed.
func (g *rig) listen(method, body string, headers ...string) *listening {
	g.t.Helper()
	ctx, cancel := context.WithCancel(g.t.Context())
	resp, err := g.do(ctx, method, body, headers...)
	if err != nil {
		cancel()
		g.t.Fatalf("%s: %v", method, err)
	}
	l := &listening{status: resp.StatusCode, close: cancel, events: make(chan rpc.Event, 10_000)}
	g.t.Cleanup(cancel)
	go func() {
		defer close(l.events)
		defer resp.Body.Close()
		r := rpc.NewEventReader(resp.Body, 64<<20)
		for {
			e, err := r.Read()
			if err != nil {
				return
			}
			l.events <- e
		}
	}()
	return l
}

func (c *client) get(headers ...string) *listening {
	c.t.Helper()
	return c.listen("GET", "", append([]string{"Mcp-Session-Id", c.session}, headers...)...)
}

// next gives the next event with data.
func (l *listening) next(t *testing.T) rpc.Event {
	t.Helper()
	timer := time.NewTimer(soon)
	defer timer.Stop()
	for {
		select {
		case e, ok := <-l.events:
			if !ok {
				t.Fatal("the stream has ended")
			}
			if len(e.Data) > 0 {
				return e
			}
		case <-timer.C:
			t.Fatal("nothing comes")
		}
	}
}

// TestWhoHears: notifications reach the sessions that they belong to, and no other.
func TestWhoHears(t *testing.T) {
	g := start(t, "")
	a, b := g.client(), g.client()
	ga, gb := a.get(), b.get()
	if second := a.get(); second.status != http.StatusConflict {
		t.Errorf("a second stream: %d", second.status)
	}
	a.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://a"}}`)
	b.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://a"}}`)
	b.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://dir/"}}`)
	a.call("2", "changed", "test://a", 0)
	a.call("3", "changed", "test://dir/x", 0)
	want := map[*listening][]string{
		ga: {"tools/list_changed", "test://a", "tools/list_changed"},
		gb: {"tools/list_changed", "test://a", "tools/list_changed", "test://dir/x"},
	}
	for l, all := range want {
		for _, w := range all {
			if e := l.next(t); !strings.Contains(string(e.Data), w) {
				t.Errorf("heard %s, want %s", e.Data, w)
			}
		}
	}
	a.post(`{"jsonrpc":"2.0","id":4,"method":"resources/unsubscribe","params":{"uri":"test://a"}}`)
	// The other one still listens, so that the server hears of neither.
	a.post(`{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"test://a"}}`)
	a.post(`{"jsonrpc":"2.0","id":4,"method":"resources/unsubscribe","params":{"uri":"test://a"}}`)
	b.request("DELETE", "", "Mcp-Session-Id", b.session)
	eventually(t, func() string {
		notes := said(a.call("5", "notes", "", 0).message())
		if strings.Count(notes, " subscribe:test://a") != 1 || strings.Count(notes, "unsubscribe:test://a") != 1 || strings.Count(notes, "unsubscribe:test://dir/") != 1 {
			return notes
		}
		return ""
	})
	a.call("6", "changed", "test://a", 0)
	if e := ga.next(t); !strings.Contains(string(e.Data), "list_changed") {
		t.Errorf("heard %s", e.Data)
	}
	select {
	case e := <-ga.events:
		t.Errorf("heard %s of what it is not subscribed to any more", e.Data)
	default:
	}
}

// TestLogLevels: the server gets the most verbose level, each session what it wants.
func TestLogLevels(t *testing.T) {
	g := start(t, "")
	level := func(c *client, l string) {
		if a := c.post(`{"jsonrpc":"2.0","id":"l","method":"logging/setLevel","params":{"level":"` + l + `"}}`); !strings.Contains(a.message(), `"result":{}`) {
			t.Errorf("level %s: %s", l, a.message())
		}
	}
	quiet, loud, unset := g.client(), g.client(), g.client()
	level(quiet, "error")
	level(loud, "debug")
	level(quiet, "warning")
	if a := quiet.post(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"shout"}}`); !strings.Contains(a.message(), "-32602") {
		t.Errorf("an unknown level: %s", a.message())
	}
	if notes := said(loud.call("1", "notes", "", 0).message()); !strings.Contains(notes, "level:error level:debug") || strings.Contains(notes, "level:warning") {
		t.Errorf("the server has heard %s", notes)
	}
	streams := map[*client]*listening{quiet: quiet.get(), loud: loud.get(), unset: unset.get()}
	for _, l := range []string{"debug", "info", "warning"} {
		a := loud.call(strconv.Quote(l), "log", l, 0)
		if len(a.bodies) != 2 || !strings.Contains(a.bodies[0], `"level":"`+l+`"`) {
			t.Errorf("%s: %v", l, a.bodies)
		}
	}
	for c, want := range map[*client][]string{quiet: {"warning"}, unset: {"info", "warning"}} {
		for _, w := range want {
			if e := streams[c].next(t); !strings.Contains(string(e.Data), `"level":"`+w+`"`) {
				t.Errorf("heard %s, want %s", e.Data, w)
			}
		}
	}
}

// TestResumption: who was cut off goes on where it was.
func TestResumption(t *testing.T) {
	g := start(t, "")
	c := g.client()
	l := c.get()
	c.call("1", "changed", "x", 0)
	first := l.next(t)
	l.close()
	c.call("2", "changed", "x", 0)
	c.call("3", "changed", "x", 0)
	again := c.get("Last-Event-ID", first.ID)
	seen := map[string]bool{first.ID: true}
	for range 2 {
		e := again.next(t)
		if seen[e.ID] {
			t.Errorf("event %s came twice", e.ID)
		}
		seen[e.ID] = true
	}
	// The answer of a call whose connection is lost.
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := c.do(ctx, "POST", callBody(`"r"`, "progress", "go on", 200), "Mcp-Session-Id", c.session)
	if err != nil || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("progress: %v %v", err, resp)
	}
	events := rpc.NewEventReader(resp.Body, 1<<20)
	prime, err := events.Read()
	if err != nil || prime.ID == "" || len(prime.Data) != 0 {
		t.Errorf("the first event: %+v %v", prime, err)
	}
	mark, err := events.Read()
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	resp.Body.Close()
	rest := c.get("Last-Event-ID", mark.ID)
	n := 1
	for last := ""; !strings.Contains(last, `"id":"r"`); n++ {
		last = string(rest.next(t).Data)
		if !strings.Contains(last, "go on") || !strings.Contains(last, fmt.Sprintf(`"progress":%d,`, n+1)) && !strings.Contains(last, `"id":"r"`) {
			t.Fatalf("event %d is %s", n, last)
		}
	}
	if n != 201 {
		t.Errorf("%d events came in all", n)
	}
	if _, open := <-rest.events; open {
		t.Error("something comes after the answer")
	}
}

// TestNeverReads: a client that does not read costs a bounded amount, and nobody else.
func TestNeverReads(t *testing.T) {
	g := start(t, "", func(_ *Options, lim *limits) { lim.streamCount, lim.write = 100, 200*time.Millisecond })
	lazy, other := g.client(), g.client()
	resp, err := lazy.do(t.Context(), "GET", "", "Mcp-Session-Id", lazy.session)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := said(other.call("1", "flood", "f", 20_000).message()); got != "f" {
		t.Errorf("flood: %q", got)
	}
	s := g.b.sessions[lazy.session]
	s.get.mu.Lock()
	kept := len(s.get.kept)
	s.get.mu.Unlock()
	if kept > 100 {
		t.Errorf("%d messages are kept", kept)
	}
	eventually(t, func() string {
		s.get.mu.Lock()
		defer s.get.mu.Unlock()
		if s.get.reader != nil {
			return "the stream is still open"
		}
		return ""
	})
	_, _ = io.Copy(io.Discard, resp.Body)
}

// TestIdle: a session that nobody uses ends.
func TestIdle(t *testing.T) {
	g := start(t, "", func(o *Options, _ *limits) { o.IdleTimeout = 300 * time.Millisecond })
	c, busy := g.client(), g.client()
	busy.get()
	eventually(t, func() string {
		if n := g.report().Sessions; n != 1 {
			return fmt.Sprintf("%d sessions", n)
		}
		return ""
	})
	if a := c.post(pingBody); a.status != 404 {
		t.Errorf("the idle one: %d", a.status)
	}
	if a := busy.post(pingBody); a.status != 200 {
		t.Errorf("the one with a stream: %d", a.status)
	}
}

// TestNewSessionsTakeTheRoomOfUnusedOnes: clients that begin a session for each call, and
// end none, keep nobody out.
func TestNewSessionsTakeTheRoomOfUnusedOnes(t *testing.T) {
	g := start(t, "", func(_ *Options, lim *limits) { lim.sessions, lim.unused = 2, 50*time.Millisecond })
	first, listens := g.client(), g.client()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp, err := listens.do(ctx, "GET", "", "Mcp-Session-Id", listens.session)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("GET: %v %v", resp, err)
	}
	defer resp.Body.Close()
	eventually(t, func() string {
		if a := g.request("POST", initBody); a.status != 200 {
			return a.message()
		}
		return ""
	})
	if a := first.post(pingBody); a.status != 404 {
		t.Errorf("the session that nobody used: %d %s", a.status, a.message())
	}
	if a := listens.post(pingBody); a.status != 200 {
		t.Errorf("the one that is used: %d %s", a.status, a.message())
	}
	if r := g.report(); r.Sessions != 2 {
		t.Errorf("%d sessions", r.Sessions)
	}
}

// TestModernCancels: in the modern era, to go is to cancel.
func TestModernCancels(t *testing.T) {
	g := start(t, "")
	c := g.client()
	ctx, cancel := context.WithCancel(t.Context())
	body := strings.Replace(callBody("1", "never", "", 0), `"_meta":{`, metaBody[:len(metaBody)-1]+",", 1)
	done := make(chan error)
	go func() {
		resp, err := g.do(ctx, "POST", body, "Mcp-Protocol-Version", modernVersion, "Mcp-Method", "tools/call", "Mcp-Name", "never")
		if err == nil {
			resp.Body.Close()
		}
		done <- err
	}()
	heard := func(what string) {
		t.Helper()
		eventually(t, func() string {
			if notes := said(c.call("1", "notes", "", 0).message()); !strings.Contains(notes, what) {
				return notes
			}
			return ""
		})
	}
	heard("never:")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	heard("cancelled:")
}

// TestPerSession: each session has a server of its own, which may ask its client, and
// which goes with it.
func TestPerSession(t *testing.T) {
	g := start(t, "", func(o *Options, _ *limits) { o.Sharing, o.MaxSessions = spec.SharingPerSession, 2 })
	eventually(t, func() string {
		if r := g.report(); r.Problem != "" || r.Servers != 0 {
			return r.Problem + " it is being tried"
		}
		return ""
	})
	if r := g.report(); r.Server == nil || r.Server.Name != "switches" || r.Server.Tools != 1 {
		t.Errorf("report %+v", r)
	}
	a, b := g.client(), g.client()
	pa, pb := said(a.call("1", "pid", "", 0).message()), said(b.call("1", "pid", "", 0).message())
	if pa == pb || pa == "" {
		t.Errorf("pids %s and %s", pa, pb)
	}
	if x := g.request("POST", initBody); x.status != 503 || !strings.Contains(x.message(), "maxSessions") {
		t.Errorf("a third session: %d %s", x.status, x.message())
	}
	a.post(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	notes := said(a.call("2", "notes", "", 0).message())
	if !strings.Contains(notes, `capabilities:{"sampling":{}`) || !strings.Contains(notes, "initialized") || !strings.Contains(notes, "roots") {
		t.Errorf("the server has heard %s", notes)
	}
	testAsks(t, a, "sampling/createMessage")
	a.request("DELETE", "", "Mcp-Session-Id", a.session)
	eventually(t, func() string {
		if n := g.report().Servers; n != 1 {
			return fmt.Sprintf("%d servers", n)
		}
		return ""
	})
	if got := said(b.call("3", "exit", "", 3).message()); !strings.Contains(got, "exit code 3") {
		t.Errorf("exit: %s", got)
	}
	if next := said(b.call("4", "pid", "", 0).message()); next == pb || next == "" {
		t.Errorf("pid %s after %s", next, pb)
	}
}

// testAsks has the server ask its client something while a call waits for it.
func testAsks(t *testing.T, c *client, method string) {
	t.Helper()
	l := c.listen("POST", callBody(`"ask"`, "ask", method, 0), "Mcp-Session-Id", c.session)
	e := l.next(t)
	m, err := rpc.Parse(e.Data)
	if err != nil || m.Method != method || !m.Request() {
		t.Fatalf("asked %s: %v", e.Data, err)
	}
	if a := c.post(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"said":"yes"}}`); a.status != 202 {
		t.Errorf("the answer: %d %s", a.status, a.message())
	}
	if e := l.next(t); !strings.Contains(said(string(e.Data)), `"said":"yes"`) {
		t.Errorf("the server got %s", e.Data)
	}
}

// TestPerSessionAsks: a server of the Go SDK asks a client of it.
func TestPerSessionAsks(t *testing.T) {
	g := start(t, "sdk", func(o *Options, _ *limits) { o.Sharing = spec.SharingPerSession })
	for _, name := range []string{"ann", "bob"} {
		s := g.sdkClient(latestLegacy, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": name}}, nil
			},
		})
		if text, err := callSDK(t.Context(), s, "ask", "who?", 0, nil); text != "accept"+name {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
	silent := g.sdkClient(latestLegacy, nil)
	if text, err := callSDK(t.Context(), silent, "ask", "who?", 0, nil); err == nil && !strings.Contains(text, "elicitation") {
		t.Errorf("a client that cannot be asked: %q", text)
	}
}

// TestModernPerSession: modern clients share a server, which is started for them.
func TestModernPerSession(t *testing.T) {
	g := start(t, "sdk", func(o *Options, _ *limits) {
		o.Sharing, o.IdleTimeout = spec.SharingPerSession, time.Second
	})
	s := g.sdkClient(modernVersion, nil)
	if text, err := callSDK(t.Context(), s, "echo", "e", 0, nil); text != "e" || err != nil {
		t.Errorf("echo: %q %v", text, err)
	}
	eventually(t, func() string {
		if n := g.report().Servers; n != 0 {
			return fmt.Sprintf("%d servers", n)
		}
		return ""
	})
}
