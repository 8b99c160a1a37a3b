//go:build linux

package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// Truth is the process table: neither the crash nor the loss of all state makes
// the next controller start a twin.
func TestAdoption(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.write("a.yaml", manifest("MCPServer", "a", fmt.Sprintf(
		"command: [%s]\nenv: [{name: %s, value: listen}]\nports: [{name: http, port: 0}]\nonControllerExit: Keep",
		os.Args[0], payloadVariable)))
	before := r.stamped("mcp/a")
	if len(before.Status.Ports) != 1 || before.Status.Ports[0].Port == 0 {
		t.Fatalf("ports = %v, want one that is chosen", before.Status.Ports)
	}

	r.crash()
	r.forget()
	r.start()
	after := r.kept("mcp/a", before)
	if after.Status.Restarts > before.Status.Restarts {
		t.Errorf("restarts = %d, but nothing was restarted", after.Status.Restarts)
	}
	if len(after.Status.Ports) != 1 || after.Status.Ports[0] != before.Status.Ports[0] {
		t.Errorf("ports = %v, want %v as before", after.Status.Ports, before.Status.Ports)
	}
	throughout(t, time.Second, "no twin", func() error { return r.count(1) })

	r.write("a.yaml", manifest("MCPServer", "a", "command: [sleep, '1000']\nonControllerExit: Keep"))
	o := r.replaced("mcp/a", after)
	if o.Status.PID == before.Status.PID {
		t.Errorf("still pid %d after an edit", o.Status.PID)
	}
	portFree(t, before.Status.Ports[0].Port)
	r.remove("a.yaml")
	nothingLeft(t, r.owner)
}

// An adopted process that is killed is noticed, though it is no child, and is
// started again with its exit known.
func TestAdoptedProcessIsWatched(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", agent("a", "onControllerExit: Keep", "backoff: {initial: 10ms, max: 10ms}"))
	r.start()
	before := r.running("agent/a")
	r.crash()
	r.start()
	p, ok := lookup(before.Status.PID)
	if !ok {
		t.Fatal("the workload has ended with the controller")
	}
	r.running("agent/a")
	end(p)
	r.replaced("agent/a", before)
	r.remove("a.yaml")
	nothingLeft(t, r.owner)
}

// Live processes whose manifest went away while no controller ran are stopped
// after the hold, not at once.
func TestRemovedWhileNoControllerRan(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", agent("a", "onControllerExit: Keep"))
	r.write("b.yaml", agent("b", "onControllerExit: Keep"))
	r.start()
	a, b := r.running("agent/a"), r.running("agent/b")
	r.stop()
	r.remove("a.yaml")
	r.flags = []string{"--scopes=off", "--delete-hold=8s"}
	r.start()
	throughout(t, 1500*time.Millisecond, "held at first", func() error { return stillRuns(a.Status.PID) })
	gone(t, a.Status.PID)
	if err := stillRuns(b.Status.PID); err != nil {
		t.Error(err)
	}
	r.remove("b.yaml")
	nothingLeft(t, r.owner)
}

// A Stop workload does not outlive a controller that was killed; what of its
// tree the death signal does not reach is finished off as well.
func TestDeathOfTheController(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("plain.yaml", agent("plain"))
	r.start()
	o := r.running("agent/plain")
	r.crash()
	gone(t, o.Status.PID)
	nothingLeft(t, r.owner)
}

func TestDeathOfTheControllerEndsTheTree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("tree.yaml", manifest("Agent", "tree", `command: [sh, -c, 'sleep 1001 & sh -c "sleep 1002; true"; true']`))
	r.start()
	r.running("agent/tree")
	r.live(4)
	r.crash()
	nothingLeft(t, r.owner)
}

// A program that clears its environment is still known: by its pid and start
// tick, and by its session.
func TestClearedEnvironmentIsNotStartedTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", manifest("Agent", "a", fmt.Sprintf(
		"command: [%s]\nenv: [{name: %s, value: clear-environment}]\nonControllerExit: Keep", os.Args[0], payloadVariable)))
	r.start()
	o := r.until("agent/a", "runs", func(o object) bool { return o.Status.Phase == "Running" && o.Status.PID > 0 })
	pid := o.Status.PID
	eventually(t, soon, "it has cleared its environment", func() error {
		if p, ok := lookup(pid); !ok || len(p.env) > 1 {
			return fmt.Errorf("live: %v, %d variables", ok, len(p.env))
		}
		return nil
	})
	r.crash() // the ledger survives
	r.start()
	o = r.until("agent/a", "is known", func(o object) bool { return o.Status.Phase == "Running" || o.condition("Stalled").Status == "True" })
	throughout(t, time.Second, "it runs on, alone", func() error {
		if n := len(marked(r.owner)); n != 0 {
			return fmt.Errorf("%d twins", n)
		}
		return stillRuns(pid)
	})
	r.remove("a.yaml")
	gone(t, pid)
}
