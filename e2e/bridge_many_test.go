//go:build linux

package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// A hundred clients share one process. All use the same ids and the same tokens of
// progress at the same time, and cancel some: each answer and each notification reaches
// the one that it is for.
func TestBridgeHundredClients(t *testing.T) {
	t.Parallel()
	const clients, calls = 100, 100
	r := newRig(t)
	r.write("s.yaml", manifest("MCPServer", "s", mcpServer("stdio", "both")+"mcp: {transport: stdio}\n"))
	r.start()
	before, port := r.available("mcp/s")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			c := newRawClient(clockURL(port), n%2 == 1)
			defer c.close(context.WithoutCancel(ctx))
			if err := c.greet(ctx); err != nil {
				t.Errorf("client %d: %v", n, err)
				return
			}
			for i := range calls {
				if err := oneOfMany(ctx, c, n, i); err != nil {
					t.Errorf("client %d, call %d: %v", n, i, err)
					return
				}
			}
		})
	}
	all.Wait()
	if now, _ := r.get("mcp/s"); now.Status.PID != before.Status.PID || now.Status.Restarts != 0 {
		t.Errorf("pid %d with %d restarts, was %d", now.Status.PID, now.Status.Restarts, before.Status.PID)
	}
	if n := len(marked(r.owner)); n != 2 {
		t.Errorf("%d processes, want the bridge and its server: %v", n, marked(r.owner))
	}
}

// oneOfMany is the call i of client n: every tenth is cancelled, every third tells of
// its progress. Each third client has two under way at a time.
func oneOfMany(ctx context.Context, c *rawClient, n, i int) error {
	text := fmt.Sprintf("client %d call %d", n, i)
	if i%10 == 9 {
		return c.cancelled(ctx, i+1, text)
	}
	if n%3 > 0 {
		return c.echo(ctx, i+1, text, (i%3)/2*2)
	}
	second := make(chan error, 1)
	go func() { second <- c.echo(ctx, 1000+i, text+" too", 1) }()
	if err := c.echo(ctx, i+1, text, 0); err != nil {
		return err
	}
	return <-second
}
