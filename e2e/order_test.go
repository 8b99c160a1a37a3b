//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// link is an Agent of a chain: it listens on a port of its own, and takes half a
// second to end after SIGTERM. What is before it comes first.
func (r *rig) link(name, before string, more ...string) string {
	r.t.Helper()
	script := fmt.Sprintf("%s\ntrap 'sleep 0.5; exit 0' TERM\n%s & wait", before, testBinary(r.t))
	return manifest("Agent", name, fmt.Sprintf(
		"command: [sh, -c, %q]\nenv: [{name: %s, value: listen}]\nports: [{name: http}]\nbackoff: {initial: 10ms, max: 10ms}\n%s",
		script, payloadVariable, strings.Join(more, "\n")))
}

// on is a line of spec that makes a workload depend on another.
func on(name string, more ...string) string {
	return fmt.Sprintf("dependsOn: [{kind: Agent, name: %s%s}]", name, strings.Join(append([]string{""}, more...), ", "))
}

// chain writes three links that depend on one another; the middle one crashes
// when it is first started.
func (r *rig) chain() {
	r.t.Helper()
	r.write("c.yaml", r.link("c", "", on("b")))
	r.write("b.yaml", r.link("b", fmt.Sprintf("mkdir %s && { sleep 0.3; exit 1; }", r.file("once")), on("a", "condition: Ready")))
	r.write("a.yaml", r.link("a", ""))
}

// ready waits until a workload is.
func (r *rig) ready(name string) object {
	r.t.Helper()
	return r.until("agent/"+name, "is ready", func(o object) bool { return o.condition("Ready").Status == "True" })
}

// began is the start tick of the main process of a workload.
func began(t testing.TB, o object) uint64 {
	t.Helper()
	p, ok := lookup(o.Status.PID)
	if !ok {
		t.Fatalf("%s has ended", o.Metadata.Name)
	}
	return p.start
}

// stoppedInOrder checks that nothing of each workload is left before the next
// one gets its first signal.
func (r *rig) stoppedInOrder(names ...string) {
	r.t.Helper()
	first := func(typ, name string) (at time.Time) {
		for _, e := range r.events() {
			if e.Type == typ && e.Key == "Agent/"+name && e.Reason != "MainGone" {
				at = e.Time // of several, the last: crashes come before
				if typ == "Signalled" {
					return at
				}
			}
		}
		return at
	}
	for i, name := range names[1:] {
		left, signal := first("Gone", names[i]), first("Signalled", name)
		if left.IsZero() || signal.Before(left) {
			r.t.Errorf("%s got its first signal at %v, and %s was gone at %v", name, signal, names[i], left)
		}
	}
}

// A chain that is started cold comes up in order, also when the middle of it
// crashes, and goes down in reverse.
func TestChainIsStartedAndShutDownInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chain()
	r.start()
	c := r.ready("c")
	a, b := r.ready("a"), r.ready("b")
	if a0, b0, c0 := began(t, a), began(t, b), began(t, c); a0 > b0 || b0 > c0 {
		t.Errorf("started at ticks %d, %d and %d", a0, b0, c0)
	}
	starts := map[string]int{}
	for _, e := range r.events() {
		if e.Type == "Started" {
			starts[e.Key]++
		}
		if e.Key == "Agent/c" && e.Type == "Started" && starts["Agent/b"] != 2 {
			t.Errorf("c was started after %d starts of b, the first of which crashes", starts["Agent/b"])
		}
	}
	if starts["Agent/a"] != 1 || starts["Agent/b"] != 2 || starts["Agent/c"] != 1 {
		t.Errorf("starts: %v", starts)
	}
	r.stop()
	nothingLeft(t, r.owner)
	r.stoppedInOrder("c", "b", "a")
}

// All of a chain that is removed goes in reverse order, also if a controller
// that has never seen the manifests together does it.
func TestChainIsRemovedInOrder(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarted %v", restarted), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.write("c.yaml", r.link("c", "", on("b"), "onControllerExit: Keep"))
			r.write("b.yaml", r.link("b", "", on("a"), "onControllerExit: Keep"))
			r.write("a.yaml", r.link("a", "", "onControllerExit: Keep"))
			r.start()
			r.ready("c")
			if restarted {
				r.stop()
			}
			for _, name := range []string{"a", "b", "c"} {
				r.remove(name + ".yaml")
			}
			if restarted {
				r.start()
			}
			nothingLeft(t, r.owner)
			r.awaitEvent("the last is gone", func(e event) bool { return e.Type == "Gone" && e.Key == "Agent/a" })
			r.stoppedInOrder("c", "b", "a")
		})
	}
}

// A dependency that is started anew takes along who asks for it, and nobody else.
func TestRestartsWithItsDependency(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("server.yaml", r.link("server", ""))
	r.write("follows.yaml", agent("follows", on("server", "onRestart: Restart")))
	r.write("stays.yaml", agent("stays", on("server")))
	r.start()
	follows, stays, server := r.running("agent/follows"), r.running("agent/stays"), r.ready("server")
	p, _ := lookup(server.Status.PID)
	end(p)
	again := r.replaced("agent/follows", follows)
	server = r.ready("server")
	if began(t, again) < began(t, server) || again.Status.Restarts != 0 {
		t.Errorf("started at tick %d, its dependency at %d; %d restarts after crashes, want 0", began(t, again), began(t, server), again.Status.Restarts)
	}
	r.awaitEvent("the reason", func(e event) bool {
		return e.Type == "Signalled" && e.PID == follows.Status.PID && e.Reason == "DependencyRestarted"
	})
	throughout(t, time.Second, "both run on", func() error {
		if err := stillRuns(again.Status.PID); err != nil {
			return err
		}
		return stillRuns(stays.Status.PID)
	})
}

// A circle and a name that is nowhere are named, and cost nothing that runs.
func TestCircleAndUnknownNameStopNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", agent("a"))
	r.start()
	a := r.running("agent/a")
	r.write("a.yaml", agent("a", on("b"), "env: [{name: A, value: b}]"))
	r.write("b.yaml", agent("b", on("c")))
	r.write("c.yaml", agent("c", on("b")))
	r.write("d.yaml", agent("d", on("nowhere")))
	for name, want := range map[string][2]string{
		"b": {"DependencyCycle", "Agent/b → Agent/c → Agent/b"},
		"c": {"DependencyCycle", "Agent/c → Agent/b → Agent/c"},
		"d": {"DependencyMissing", "Agent/nowhere"},
	} {
		o := r.until("agent/"+name, "says what is wrong", func(o object) bool { return o.Status.Reason == want[0] })
		accepted := o.condition("Accepted")
		if !strings.Contains(o.Status.Message, want[1]) || o.Status.PID != 0 || accepted.Status != "False" || accepted.Reason != want[0] {
			t.Errorf("%s: %q, pid %d, accepted: %+v; want %q", name, o.Status.Message, o.Status.PID, accepted, want[1])
		}
	}
	r.until("agent/a", "waits for b and runs", func(o object) bool {
		return o.Status.Reason == "WaitingForDependency" && strings.Contains(o.Status.Message, "Agent/b") && o.Status.PID == a.Status.PID
	})
	throughout(t, time.Second, "a runs on", func() error { return stillRuns(a.Status.PID) })

	r.write("c.yaml", agent("c"))
	r.write("nowhere.yaml", agent("nowhere"))
	r.running("agent/b")
	r.running("agent/d")
	r.replaced("agent/a", a)
}
