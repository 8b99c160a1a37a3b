//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestDropEditRemove(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()

	r.write("a.yaml", agent("a", "env: [{name: COLOUR, value: red}]"))
	first := r.running("agent/a")
	wantEnvironment(t, first, "COLOUR", "red")
	wantEnvironment(t, first, "AGENT_NAME", "a")

	r.write("a.yaml", agent("a", "env: [{name: COLOUR, value: blue}]"))
	second := r.replaced("agent/a", first)
	wantEnvironment(t, second, "COLOUR", "blue")
	if n := len(marked(r.owner)); n != 1 {
		t.Errorf("%d processes of the owner, want 1", n)
	}

	r.remove("a.yaml")
	gone(t, second.Status.PID)
	nothingLeft(t, r.owner)
	eventually(t, soon, "the workload is no longer listed", func() error {
		if o, err := r.get("agent/a"); err == nil {
			return fmt.Errorf("it is %s", o.Status.Phase)
		}
		return nil
	})
}

func wantEnvironment(t *testing.T, o object, name, value string) {
	t.Helper()
	eventually(t, soon, "the environment of "+o.Metadata.Name, func() error {
		if p, ok := lookup(o.Status.PID); !ok || !p.has(name, value) {
			return fmt.Errorf("pid %d has no %s=%s: %q", o.Status.PID, name, value, p.env)
		}
		return nil
	})
}

// What does not belong to the hash restarts nothing, and is shown all the same.
func TestLabelEditRestartsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	plain := agent("a")
	r.write("a.yaml", plain)
	before := r.running("agent/a")

	r.write("a.yaml", strings.Replace(plain, "  name: a\n", "  name: a\n  labels: {team: dev}\n", 1))
	after := r.until("agent/a", "has the label", func(o object) bool { return o.Metadata.Labels["team"] == "dev" })
	if after.Status.PID != before.Status.PID {
		t.Errorf("pid %d after a change of a label, was %d", after.Status.PID, before.Status.PID)
	}
}

func TestBrokenEditKeepsRunning(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	good := agent("a")
	r.write("a.yaml", good)
	before := r.running("agent/a")

	broken := strings.Replace(good, "command:", "comand:", 1)
	r.write("a.yaml", broken)
	o := r.until("agent/a", "says that the edit is not accepted", func(o object) bool {
		return o.condition("Accepted").Status == "False"
	})
	for _, want := range []string{"a.yaml", "comand", "command"} {
		if !strings.Contains(o.condition("Accepted").Message, want) {
			t.Errorf("message %q does not contain %q", o.condition("Accepted").Message, want)
		}
	}
	throughout(t, 2*time.Second, "the last good one keeps running", func() error { return stillRuns(before.Status.PID) })

	r.write("a.yaml", good)
	o = r.until("agent/a", "is accepted again", func(o object) bool { return o.condition("Accepted").Status == "True" })
	if o.Status.PID != before.Status.PID {
		t.Errorf("pid %d after the mistake was mended, was %d", o.Status.PID, before.Status.PID)
	}
}

// The last good manifest is remembered across a restart of the controller.
func TestBrokenManifestAcrossARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.write("a.yaml", agent("a", "onControllerExit: Keep"))
	before := r.running("agent/a")
	r.stop()

	r.write("a.yaml", "kind: [broken a\n")
	r.start()
	throughout(t, 3*time.Second, "a broken file protects what runs", func() error { return stillRuns(before.Status.PID) })
	r.remove("a.yaml")
	gone(t, before.Status.PID)
}

// git checkout and many editors unlink a file and create it anew.
func TestUnlinkAndRecreateRestartsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	for _, name := range []string{"a", "b"} {
		r.write(name+".yaml", agent(name))
	}
	a, b := r.running("agent/a"), r.running("agent/b")
	for range 3 {
		r.remove("a.yaml")
		r.remove("b.yaml")
		r.write("b.yaml", agent("b"))
		r.write("a.yaml", agent("a"))
	}
	r.write("moved.yaml", agent("a")+"---\n"+agent("b"))
	r.remove("a.yaml")
	r.remove("b.yaml")
	throughout(t, 3*time.Second, "both keep running", func() error {
		if err := stillRuns(a.Status.PID); err != nil {
			return err
		}
		return stillRuns(b.Status.PID)
	})
}

func TestSuspendAndReplicas(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.write("a.yaml", agent("a", "replicas: 3"))
	r.until("agent/a", "has three instances", func(o object) bool { return len(o.Status.Instances) == 3 })
	r.live(3)
	r.write("a.yaml", agent("a", "replicas: 1"))
	r.live(1)
	r.write("a.yaml", agent("a", "suspend: true"))
	r.live(0)
	r.until("agent/a", "is suspended", func(o object) bool { return o.Status.Phase == "Suspended" })
	r.write("a.yaml", agent("a"))
	r.live(1)
}

// A crash is answered with a new start, after the back-off.
func TestCrashIsRestarted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.write("a.yaml", agent("a", "backoff: {initial: 10ms, max: 10ms}"))
	first := r.running("agent/a")
	p, _ := lookup(first.Status.PID)
	end(p)
	second := r.replaced("agent/a", first)
	if second.Status.Restarts != 1 {
		t.Errorf("restarts = %d after one crash, want 1", second.Status.Restarts)
	}
	if lt := second.Status.LastTermination; lt == nil || !strings.Contains(lt.Signal, "KILL") {
		t.Errorf("last termination = %+v, want SIGKILL", lt)
	}
}

func TestRestartPolicies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("m.yaml", strings.Join([]string{
		manifest("Agent", "done", "command: ['true']\nrestartPolicy: OnFailure"),
		manifest("Agent", "failed", "command: [sh, -c, 'echo the reason; exit 3']\nrestartPolicy: Never"),
	}, "---\n"))
	r.start()
	r.until("agent/done", "completes", func(o object) bool { return o.Status.Phase == "Completed" })
	o := r.until("agent/failed", "fails", func(o object) bool { return o.Status.Phase == "Failed" })
	if lt := o.Status.LastTermination; lt == nil || lt.ExitCode != 3 || !strings.Contains(lt.Output, "the reason") {
		t.Errorf("last termination = %+v, want exit code 3 and the last line of output", lt)
	}
}

// A stop ends when the whole tree is gone: a member that left group and
// session is found by its markers.
func TestStopReachesTheWholeTree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.write("a.yaml", manifest("Agent", "a", `command: [sh, -c, 'setsid sleep 1001 & setsid setsid sleep 1002 & sleep 1003; true']`))
	r.running("agent/a")
	r.live(4)
	began := time.Now()
	r.remove("a.yaml")
	nothingLeft(t, r.owner)
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("it took %v: they were killed after the grace of 10 s, not stopped", took)
	}
}

// What a crashed main process leaves is stopped before the next one starts, and
// that it has gone is noticed when it has, not when the grace is over.
func TestRemainsOfACrash(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.write("a.yaml", manifest("Agent", "a", `
command: [sh, -c, 'sleep 1001 & wait']
backoff: {initial: 10ms, max: 10ms}
terminationGracePeriodSeconds: 600`))
	first := r.running("agent/a")
	r.live(2)
	p, _ := lookup(first.Status.PID)
	end(p)
	r.replaced("agent/a", first)
	if got := marked(r.owner); len(got) > 2 {
		t.Errorf("%v live, want the two of the new instance", got)
	}
}
