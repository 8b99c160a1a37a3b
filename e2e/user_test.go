//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// newRootRig gives a rig whose controller may start processes as other users.
func newRootRig(t *testing.T) *rig {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to start processes as other users")
	}
	r := newRig(t)
	must(t, os.Chmod(r.dir, 0o755))
	return r
}

// runsAs objects unless all four uids of the process are this one.
func runsAs(t *testing.T, pid int, uid string) {
	t.Helper()
	if got := strings.Fields(statusField(t, pid, "Uid")); !slices.Equal(got, []string{uid, uid, uid, uid}) {
		t.Errorf("pid %d runs as %v, want %s", pid, got, uid)
	}
}

// A workload of another user is replaced, stopped and adopted like any, with
// and without the ledger.
func TestUserOfAWorkload(t *testing.T) {
	t.Parallel()
	r := newRootRig(t)
	body := func(user string) string {
		return manifest("Agent", "a", "command: [sh, -c, 'setsid sleep 1001 & exec sleep 1000']\nworkingDir: /\nonControllerExit: Keep\n"+user)
	}
	r.write("a.yaml", body("user: nobody"))
	r.start()
	first := r.stamped("agent/a")
	runsAs(t, first.Status.PID, "65534")
	r.live(2)
	p, _ := lookup(first.Status.PID)
	if !p.has("HOME", "/nonexistent") || !p.has("USER", "nobody") {
		t.Errorf("its environment is %q", p.env)
	}
	for _, forget := range []bool{false, true} {
		r.crash()
		if forget {
			r.forget()
		}
		r.start()
		r.kept("agent/a", first)
		throughout(t, time.Second, "no twin", func() error { return r.count(2) })
	}
	r.write("a.yaml", body("user: 54321:54321"))
	second := r.replaced("agent/a", first)
	runsAs(t, second.Status.PID, "54321")
	r.write("a.yaml", body(""))
	third := r.replaced("agent/a", second)
	runsAs(t, third.Status.PID, "0")
	r.remove("a.yaml")
	nothingLeft(t, r.owner)
}

// The death signal and the markers reach a workload of another user whose
// controller was killed.
func TestUserDiesWithTheController(t *testing.T) {
	t.Parallel()
	r := newRootRig(t)
	r.write("a.yaml", agent("a", "workingDir: /", "user: nobody"))
	r.start()
	o := r.running("agent/a")
	r.crash()
	gone(t, o.Status.PID)
}

// Once the manifest is gone, the ledger alone says as which user a workload was
// started. Without that, nothing tells it from a copy of its markers, and that
// is what is said.
func TestUserWithoutItsManifest(t *testing.T) {
	t.Parallel()
	r := newRootRig(t)
	r.write("a.yaml", manifest("Agent", "a",
		"command: [sh, -c, 'setsid sleep 1001 & exec sleep 1000']\nworkingDir: /\nonControllerExit: Keep\nuser: nobody"))
	r.start()
	o := r.running("agent/a")
	var pids []int
	eventually(t, soon, "both processes are up", func() error {
		pids = nil
		for _, p := range marked(r.owner) {
			pids = append(pids, p.pid)
		}
		if len(pids) != 2 {
			return fmt.Errorf("%v", pids)
		}
		return nil
	})
	mine := func(args ...string) (shown []listed) {
		return slices.DeleteFunc(r.ps(args...), func(l listed) bool { return l.Owner != r.owner || !slices.Contains(pids, l.PID) })
	}
	pid := fmt.Sprint(o.Status.PID)
	explained := func(want ...string) {
		t.Helper()
		res := r.run("explain", pid)
		for _, text := range want {
			if res.code != 0 || !strings.Contains(res.stdout, text) {
				t.Errorf("explain does not say %q (exit code %d):\n%s%s", text, res.code, res.stdout, res.stderr)
			}
		}
	}
	known := func(alive bool) {
		t.Helper()
		shown := mine()
		for _, l := range shown {
			if l.Verdict != "Ours" || l.Key != "Agent/a" || l.OwnerAlive != alive {
				t.Errorf("ps: %+v", l)
			}
		}
		if len(shown) != 2 {
			t.Errorf("ps shows %v, want %v", shown, pids)
		}
		explained(": Ours, the main process of Agent/a ", "in the ledger of this boot")
	}
	known(true)
	r.crash()
	r.unguarded(soon) // it still writes down what it does
	explained("A controller with these flags would adopt it")
	ledger, hidden := r.state, r.state+".hidden"
	must(t, os.Rename(ledger, hidden)) // the manifest is as good
	explained(": Ours, the main process of Agent/a ", "A controller with these flags would adopt it")
	if shown := mine(); len(shown) != 2 || shown[0].Verdict != "Ours" {
		t.Errorf("ps without a ledger shows %+v", shown)
	}

	r.remove("a.yaml")
	explained(": NotOurs", "nothing tells whether Agent/a was started as uid 65534", "would never signal it")
	if shown := mine(); len(shown) != 0 {
		t.Errorf("ps without ledger and manifest shows %+v", shown)
	}
	if shown := mine("--all"); len(shown) != 2 {
		t.Errorf("ps --all shows %+v", shown)
	}
	rows, stderr := r.reap(0, "--include-keep")
	if len(rows) != 0 || strings.Count(stderr, "is left alone: it runs as nobody") != 2 {
		t.Errorf("reaped %v and said %q", rows, stderr)
	}
	must(t, stillRuns(o.Status.PID))

	must(t, os.Rename(hidden, ledger))
	known(false)
	explained("A controller with these flags would stop it")
	if rows, _ = r.reap(0, "--include-keep"); len(rows) != 2 {
		t.Errorf("reaped %+v, want %v", rows, pids)
	}
	nothingLeft(t, r.owner)
}

func TestUserThatIsNotThere(t *testing.T) {
	t.Parallel()
	r := newRootRig(t)
	r.write("a.yaml", agent("a", "workingDir: /", "user: nobody"))
	r.start()
	before := r.running("agent/a")
	r.write("a.yaml", agent("a", "workingDir: /", "user: no-such-user"))
	r.write("b.yaml", agent("b", "user: no-such-user"))
	for _, key := range []string{"agent/a", "agent/b"} {
		o := r.until(key, "is not accepted", func(o object) bool { return o.condition("Accepted").Reason == "UserUnknown" })
		if c := o.condition("Accepted"); c.Status != "False" || !strings.Contains(c.Message, "no-such-user") {
			t.Errorf("%s: condition %+v", key, c)
		}
	}
	r.kept("agent/a", before)
}

func TestUserIsRefusedWithoutRoot(t *testing.T) {
	t.Parallel()
	r := newRigAsNobody(t)
	r.write("a.yaml", agent("a", "user: root"))
	r.start()
	r.saidInLog("Agent/a", "UserRefused", "root")
	if left := marked(r.owner); len(left) > 0 {
		t.Errorf("it was started: %v", left)
	}
}

// forge runs a program as another user with the given environment, as the
// leader of a session, for as long as the test.
func forge(t *testing.T, env []string, program string, args ...string) proc {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir = env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p, _ := lookup(cmd.Process.Pid)
	return p
}

// Markers can be copied by anybody. A process of another user that has them all
// is no workload, and gets no signal: neither as a member of an instance that
// runs, nor as an instance of its own, nor through a set-user-ID program.
func TestForgedMarkers(t *testing.T) {
	t.Parallel()
	r := newRootRig(t)
	program := filepath.Join(r.dir, "set-id")
	self, err := os.ReadFile(os.Args[0])
	must(t, err)
	must(t, writeProgram(program, self))
	must(t, os.Chmod(program, 0o755|os.ModeSetuid))

	r.write("a.yaml", agent("a", "onControllerExit: Keep"))
	r.start()
	a := r.stamped("agent/a")
	real, _ := lookup(a.Status.PID)
	ghost := func(tick uint64) []string { // an instance of b, which never was
		env := slices.DeleteFunc(slices.Clone(real.env), func(v string) bool {
			return strings.HasPrefix(v, "AGENT_NAME=") || strings.HasPrefix(v, "PROC_CONTROLLER_INSTANCE=")
		})
		return append(env, "AGENT_NAME=b", fmt.Sprintf("PROC_CONTROLLER_INSTANCE=ghost-%d", tick))
	}
	now := bootTick(t)
	forged := []proc{
		forge(t, real.env, "/bin/sleep", "1000"),
		forge(t, ghost(now), "/bin/sleep", "1000"),
		forge(t, append(ghost(bootTick(t)), payloadVariable+"=become-root"), program),
	}
	eventually(t, soon, "one of them has become root", func() error {
		if got := statusField(t, forged[2].pid, "Uid"); !strings.HasPrefix(got, "0\t0") {
			return fmt.Errorf("Uid: %s", got)
		}
		return nil
	})
	unharmed := func(when string) {
		t.Helper()
		for _, p := range forged {
			if got, ok := lookup(p.pid); !ok || got.start != p.start {
				t.Fatalf("%s: %v got a signal", when, p)
			}
		}
	}
	mine := func(name string) (found []proc) {
		for _, p := range marked(r.owner) {
			isForged := slices.ContainsFunc(forged, func(f proc) bool { return f.pid == p.pid })
			if !isForged && p.has("AGENT_NAME", name) {
				found = append(found, p)
			}
		}
		return found
	}

	r.crash()
	r.forget()
	r.start()
	if o := r.running("agent/a"); o.Status.PID != a.Status.PID || o.Status.Instances[0].Members != 0 {
		t.Errorf("pid %d with %d members, want %d with none", o.Status.PID, o.Status.Instances[0].Members, a.Status.PID)
	}
	r.write("b.yaml", agent("b"))
	b := r.running("agent/b")
	if got := mine("b"); len(got) != 1 || got[0].pid != b.Status.PID {
		t.Errorf("of b there runs %v, status says pid %d", got, b.Status.PID)
	}
	unharmed("with the workloads up")
	for _, p := range forged {
		at := slices.IndexFunc(r.ps("--all"), func(l listed) bool { return l.PID == p.pid })
		if at < 0 {
			t.Errorf("ps --all does not show %v", p)
		}
	}
	r.remove("a.yaml")
	r.remove("b.yaml")
	gone(t, a.Status.PID)
	gone(t, b.Status.PID)
	r.stop()
	unharmed("after all was stopped")
}
