//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What is suspended at runtime stays down, whatever happens to the controller, and
// it is said, and what undoes it.
func TestSuspendAtRuntime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", agent("a"))
	r.start()
	o := r.running("agent/a")
	r.post("agents/a/suspend")
	suspended := func(when string) {
		t.Helper()
		r.until("agent/a", "is suspended "+when, func(o object) bool {
			return o.Status.Phase == "Suspended" && o.Status.Reason == "SuspendedAtRuntime" && o.Status.SuspendedAt != "" &&
				strings.Contains(o.Status.Message, "proc-controller resume agent/a") && len(o.Status.Instances) == 0
		})
		if err := r.count(0); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	suspended("at first")
	gone(t, o.Status.PID)
	if res := r.run("get"); !strings.Contains(res.stdout, "SuspendedAtRuntime") || !strings.Contains(res.stdout, "0/0") {
		t.Errorf("get shows %q", res.stdout)
	}
	r.crash()
	r.start()
	suspended("by the next controller")
	r.ownBinary()
	r.stop()
	r.start()
	r.signal(syscall.SIGUSR2)
	r.upgraded(1)
	suspended("after an upgrade")
	if res := r.run("restart", "agent/a"); res.code != 1 || !strings.Contains(res.stderr, "to undo it: proc-controller resume agent/a") {
		t.Errorf("restart: exit code %d: %s", res.code, res.stderr)
	}
	r.post("agents/a/resume")
	r.running("agent/a")

	r.post("agents/a/suspend")
	suspended("again")
	r.remove("a.yaml")
	eventually(t, soon, "the suspension is forgotten", func() error {
		if res := r.run("events"); !strings.Contains(res.stdout, "its manifest is gone") {
			return fmt.Errorf("events: %s%s", res.stdout, res.stderr)
		}
		return nil
	})
	r.write("a.yaml", agent("a"))
	r.running("agent/a")
}

// Down leaves nothing, whatever else is kept and whatever is under way; its verb is
// back when another controller could begin.
func TestDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", slow("a"))
	r.write("b.yaml", agent("b", "onControllerExit: Keep"))
	r.write("c.yaml", manifest("Agent", "c", "command: [sh, -c, 'trap \"\" TERM; setsid sleep 1000 & while :; do sleep 0.1; done']\nonControllerExit: Keep\nterminationGracePeriodSeconds: 1"))
	r.write("d.yaml", slow("d"))
	r.start()
	for _, key := range []string{"agent/a", "agent/b", "agent/c", "agent/d"} {
		r.running(key)
	}
	r.remove("d.yaml") // it is on its way out
	res := r.run("down")
	if res.code != 0 || !strings.Contains(res.stdout, "nothing of it is left") {
		t.Errorf("exit code %d: %s%s", res.code, res.stdout, res.stderr)
	}
	if err := r.count(0); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if !strings.Contains(res.stdout, "agent/"+name+" stopped\n") {
			t.Errorf("agent/%s is not named: %s", name, res.stdout)
		}
	}
	if code := r.exit(soon); code != 0 {
		t.Errorf("the controller ended with %d", code)
	}
	r.start()
	r.running("agent/b")
}

// Down during a shutdown: what that would have kept goes, too.
func TestDownDuringAShutdown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gate := filepath.Join(r.dir, "gate")
	r.write("a.yaml", manifest("Agent", "a", fmt.Sprintf("command: [sh, -c, 'trap \"\" TERM; until [ -e %s ]; do sleep 0.1; done']\nterminationGracePeriodSeconds: 600", gate)))
	r.write("b.yaml", agent("b", "onControllerExit: Keep"))
	r.start()
	r.running("agent/a")
	r.running("agent/b")
	r.signal(syscall.SIGTERM)
	r.until("agent/a", "is being stopped", func(o object) bool { return o.Status.Phase == "Stopping" })
	if res := r.run("down", "--no-wait"); res.code != 0 {
		t.Errorf("exit code %d: %s%s", res.code, res.stdout, res.stderr)
	}
	must(t, os.WriteFile(gate, nil, 0o644))
	if code := r.exit(soon); code != 0 {
		t.Errorf("the controller ended with %d", code)
	}
	if err := r.count(0); err != nil {
		t.Error(err)
	}
}
