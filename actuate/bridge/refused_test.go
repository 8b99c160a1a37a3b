//go:build unix

package bridge

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/spec"
)

// helloOf is an initialize with another revision, which a picky server refuses, does not
// answer, or ends of.
func helloOf(revision string) string { return strings.Replace(initBody, "2025-11-25", revision, 1) }

// TestRefusedSession: what becomes of the server of one session says nothing of those
// of the others, as long as it is the client's doing, and ends none of them.
func TestRefusedSession(t *testing.T) {
	g := start(t, "picky", func(o *Options, _ *limits) { o.Sharing = spec.SharingPerSession })
	eventually(t, func() string { return g.report().Problem })
	const said = `{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"no such revision","data":{"supported":["2025-11-25"]}}}`
	if a := g.request("POST", helloOf("refuse")); a.status != 200 || a.message() != said || a.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("refused: %d %s", a.status, a.message())
	}
	if a := g.request("POST", helloOf("refuse and end")); a.status != 200 || a.message() != said {
		t.Errorf("refused by one that ends of the next greeting: %d %s", a.status, a.message())
	}
	if r := g.report(); r.Problem != "" {
		t.Errorf("after a refused session: %s", r.Problem)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if resp, err := g.do(ctx, "POST", helloOf("silent")); err == nil {
			resp.Body.Close()
		}
	}()
	eventually(t, func() string {
		if g.report().Servers != 1 {
			return "no server was started"
		}
		return ""
	})
	cancel()
	<-gone
	eventually(t, func() string {
		if g.report().Servers != 0 {
			return "the server of a client that has gone is still there"
		}
		return ""
	})
	if r := g.report(); r.Problem != "" {
		t.Errorf("after a client has gone: %s", r.Problem)
	}
}

// TestFailedSession: a server that ends when it is greeted is told of, but what runs is
// not to be restarted for it.
func TestFailedSession(t *testing.T) {
	g := start(t, "picky", func(o *Options, _ *limits) {
		o.Sharing, o.Backoff.Initial, o.Backoff.Max = spec.SharingPerSession, spec.Duration(time.Hour), spec.Duration(time.Hour)
	})
	c := g.client()
	if a := g.request("POST", helloOf("end")); a.status != 503 || !strings.Contains(a.message(), "exit code 7") {
		t.Errorf("failed: %d %s", a.status, a.message())
	}
	if r := g.report(); !strings.Contains(r.Problem, "exit code 7") || !r.Busy {
		t.Errorf("with a session: %+v", r)
	}
	if got := said(c.call("1", "echo", "e", 0).message()); got != "e" {
		t.Errorf("another session: %s", got)
	}
	c.request("DELETE", "", "Mcp-Session-Id", c.session)
	eventually(t, func() string {
		if r := g.report(); r.Busy || r.Problem == "" {
			return "without a session it is taken for busy, or well"
		}
		return ""
	})
}

// TestIsTriedAgain: a server that could not be started for a session is well again once
// it can be started, although no client tries.
func TestIsTriedAgain(t *testing.T) {
	g := start(t, "picky", func(o *Options, _ *limits) { o.Sharing = spec.SharingPerSession })
	eventually(t, func() string { return g.report().Problem })
	if a := g.request("POST", helloOf("end")); a.status != 503 {
		t.Errorf("failed: %d %s", a.status, a.message())
	}
	eventually(t, func() string { return g.report().Problem })
}

// TestRefusedByOneThatSaysNoMore: who is refused is told so, also where the server does
// not answer the greeting of the other era.
func TestRefusedByOneThatSaysNoMore(t *testing.T) {
	g := start(t, "picky", func(o *Options, lim *limits) {
		o.Sharing, lim.greet, lim.own = spec.SharingPerSession, time.Hour, time.Second
	})
	eventually(t, func() string { return g.report().Problem })
	if a := g.request("POST", helloOf("refuse and say no more")); a.status != 200 || !strings.Contains(a.message(), "no such revision") {
		t.Errorf("%d %s", a.status, a.message())
	}
	if r := g.report(); r.Problem != "" {
		t.Errorf("after a refused session: %s", r.Problem)
	}
}

// TestWhichRefusalIsTold: that there is no such method is the least telling of all.
func TestWhichRefusalIsTold(t *testing.T) {
	refusal := func(method string, code int) *refusedError {
		return &refusedError{method: method, err: rpc.Errorf(code, "no")}
	}
	discover, initialize := refusal(methodDiscover, rpc.CodeMissingCapability), refusal(methodInitialize, rpc.CodeInvalidParams)
	unknown := refusal(methodInitialize, rpc.CodeMethodNotFound)
	for _, tt := range []struct {
		first *refusedError
		next  error
		want  *refusedError
	}{
		{discover, initialize, initialize},
		{discover, unknown, discover},
		{initialize, refusal(methodDiscover, rpc.CodeMethodNotFound), initialize},
		{initialize, context.DeadlineExceeded, initialize},
	} {
		if got := tt.first.orRather(tt.next); got != tt.want {
			t.Errorf("of %v and %v: %v", tt.first, tt.next, got)
		}
	}
}
