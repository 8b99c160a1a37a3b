//go:build linux

package e2e

import (
	"errors"
	"testing"
	"time"
)

// waits begins to wait, and gives what comes of it.
func (r *rig) waits(args ...string) <-chan result {
	done := make(chan result, 1)
	go func() { done <- r.run("wait", args...) }()
	return done
}

// A script that waits goes on when the server answers, and no sooner; and when
// all of it is gone, and no sooner.
func TestWaitForAServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.patient("MCPServer", "a", "mcp: {}", "shut")
	r.start()
	o := p.lives()
	ready := r.waits(p.key, "--for=ready", "--timeout=18s")
	ends := func(wait <-chan result) {
		t.Helper()
		select {
		case res := <-wait:
			if res.code != 0 {
				t.Fatalf("exit code %d: %s%s", res.code, res.stdout, res.stderr)
			}
		case <-time.After(2 * soon):
			t.Fatal("it waits for ever")
		}
	}
	goesOn := func(wait <-chan result) func() error {
		return func() error {
			if len(wait) > 0 {
				return errors.New("it has ended")
			}
			return nil
		}
	}
	throughout(t, time.Second, "it waits", goesOn(ready))
	p.ails("busy", "") // it takes the connection, which is no answer
	p.heals("shut")
	p.counts("asked-mcp", 1)
	throughout(t, time.Second, "it waits on", goesOn(ready))
	p.heals("busy")
	ends(ready)
	if now, err := r.get(p.key); err != nil || !now.ready() {
		t.Errorf("the wait is over, and it is not ready: %v, %+v", err, now.Status)
	}

	deleted := r.waits(p.key, "--for=delete", "--timeout=18s")
	throughout(t, 500*time.Millisecond, "it waits", goesOn(deleted))
	r.remove(p.file)
	ends(deleted)
	if err := stillRuns(o.Status.PID); err == nil {
		t.Error("the wait is over, and it runs")
	}
}
