//go:build unix

package bridge

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/spec"
)

// hungUp closes the stream of a session, and waits until the bridge knows.
func (c *client) hungUp(l *listening) {
	c.t.Helper()
	c.b.mu.Lock()
	s := c.b.sessions[c.session]
	c.b.mu.Unlock()
	l.close()
	eventually(c.t, func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.busy > 0 {
			return "the bridge takes the stream for open"
		}
		return ""
	})
}

// TestClientCrashes: the server of a session whose client has gone without a word does
// not wait for the idleTimeout. A client that has no stream, or does without it now, may
// be there.
func TestClientCrashes(t *testing.T) {
	g := start(t, "", func(o *Options, lim *limits) {
		o.Sharing, o.IdleTimeout, lim.left = spec.SharingPerSession, 10*time.Hour, time.Hour
		lim.quiet = 10 * time.Millisecond
	})
	eventually(t, func() string { return g.report().Problem })
	silent, without, again, crashed := g.client(), g.client(), g.client(), g.client()
	without.hungUp(without.get())
	without.post(pingBody)
	again.hungUp(again.get())
	again.get()
	l := crashed.get()
	call := crashed.listen("POST", callBody("1", "never", "", 0), "Mcp-Session-Id", crashed.session)
	call.close()
	crashed.hungUp(l)
	g.b.sweepOnce(time.Now().Add(2 * time.Hour))
	eventually(t, func() string {
		if r := g.report(); r.Sessions > 3 || r.Servers > 3 {
			return fmt.Sprintf("%d sessions, %d servers", r.Sessions, r.Servers)
		}
		return ""
	})
	if a := crashed.post(pingBody); a.status != http.StatusNotFound {
		t.Errorf("the session of the client that has crashed: %d", a.status)
	}
	// The others were unused for longer.
	for name, c := range map[string]*client{"without a stream": silent, "that does without": without, "that has come back": again} {
		if a := c.post(pingBody); a.status != http.StatusOK {
			t.Errorf("the session of a client %s: %d", name, a.status)
		}
	}
}

// TestSharedSessionsWait: a session that has no server of its own holds nothing, so that
// its client may come back until the idleTimeout.
func TestSharedSessionsWait(t *testing.T) {
	g := start(t, "", func(_ *Options, lim *limits) { lim.left = time.Nanosecond })
	c := g.client()
	c.hungUp(c.get())
	g.b.sweepOnce(time.Now())
	if a := c.post(pingBody); a.status != http.StatusOK {
		t.Errorf("the session: %d", a.status)
	}
}

// TestQuestionsEndWithTheServer: what a server has asked is forgotten when it ends, and
// its client is told so. The next server may ask as much.
func TestQuestionsEndWithTheServer(t *testing.T) {
	g := start(t, "", func(o *Options, lim *limits) { o.Sharing, lim.quiet = spec.SharingPerSession, 10*time.Millisecond })
	eventually(t, func() string { return g.report().Problem })
	c := g.client()
	for round := range 2 {
		pid, err := strconv.Atoi(said(c.call(`"p"`, "pid", "", 0).message()))
		if err != nil {
			t.Fatal(err)
		}
		l := c.listen("POST", callBody(strconv.Itoa(round), "asks", "", maxQuestions), "Mcp-Session-Id", c.session)
		open := map[string]bool{}
		for range maxQuestions {
			m, err := rpc.Parse(l.next(t).Data)
			if err != nil || m.Method != "sampling/createMessage" {
				t.Fatalf("asked %s: %v", m.Bytes(), err)
			}
			open[string(m.ID)] = true
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for range maxQuestions {
			m, err := rpc.Parse(l.next(t).Data)
			id := string(rpc.Get(m.Params, "requestId"))
			if reason, _ := rpc.Text(rpc.Get(m.Params, "reason")); err != nil || m.Method != noteCancelled || !open[id] || !strings.Contains(reason, "ended (signal killed)") {
				t.Fatalf("told %s: %v", m.Bytes(), err)
			}
			delete(open, id)
		}
		if m := string(l.next(t).Data); !strings.Contains(m, "the server has ended (signal killed) while it worked on this") {
			t.Errorf("the answer to the call: %s", m)
		}
	}
	if all := strings.Join(g.report().Findings, "\n"); strings.Contains(all, "asks its client") {
		t.Errorf("findings:\n%s", all)
	}
}

// TestQuestionsEndWithTheirCall: what a client was asked for a call that it has cancelled
// is forgotten, and the client is told so.
func TestQuestionsEndWithTheirCall(t *testing.T) {
	g := start(t, "sdk", func(o *Options, _ *limits) { o.Protocol, o.Sharing = spec.ProtocolModern, spec.SharingPerSession })
	asked, told := make(chan struct{}), make(chan struct{})
	s := g.sdkClient(latestLegacy, &mcp.ClientOptions{
		ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			close(asked)
			select {
			case <-ctx.Done():
				close(told)
			case <-t.Context().Done():
			}
			return nil, errForsaken
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		_, err := callSDK(ctx, s, "want", "ann", 0, nil)
		done <- err
	}()
	for _, step := range []<-chan struct{}{asked, told} {
		select {
		case <-step:
		case <-time.After(soon):
			t.Fatal("the client was asked, and not told that nobody waits")
		}
		cancel()
	}
	if err := <-done; err == nil {
		t.Error("the call was answered")
	}
}
