//go:build unix

package bridge

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestBusy: a server that answers one request after another is not taken for dead while
// it works on one, but only as long as somebody waits for that, and not for ever.
func TestBusy(t *testing.T) {
	g := start(t, "oneatatime", func(_ *Options, lim *limits) { lim.quiet, lim.busy = 10*time.Millisecond, 500*time.Millisecond })
	c := g.client()
	if r := g.reportWithin(20 * time.Second); r.Problem != "" || r.Busy {
		t.Fatalf("at rest: %+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp, err := c.do(ctx, "POST", callBody("1", "slow", "", int(time.Hour.Milliseconds())), "Mcp-Session-Id", c.session)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if r := g.reportWithin(50 * time.Millisecond); !r.Busy || !strings.Contains(r.Problem, "it works on 1 request") {
		t.Errorf("at work: %+v", r)
	}
	eventually(t, func() string {
		if r := g.reportWithin(50 * time.Millisecond); r.Busy || r.Problem == "" {
			return "it is taken for busy, although nothing was heard of it: " + r.Problem
		}
		return ""
	})
}

// TestNobodyWaits: what was given up keeps no server busy.
func TestNobodyWaits(t *testing.T) {
	g := start(t, "oneatatime", func(_ *Options, lim *limits) { lim.quiet = 10 * time.Millisecond })
	c := g.client()
	resp, err := c.do(t.Context(), "POST", callBody("1", "slow", "", int(time.Hour.Milliseconds())), "Mcp-Session-Id", c.session)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if r := g.reportWithin(50 * time.Millisecond); r.Busy || r.Problem == "" {
		t.Errorf("%+v", r)
	}
}
