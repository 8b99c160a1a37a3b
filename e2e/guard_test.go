//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// guards gives the guards of the rig's owner, by their command line.
func (r *rig) guards() []proc {
	return living(func(p proc) bool {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		return strings.Contains(string(line), "\x00guard-of\x00"+r.owner+"\x00")
	})
}

// guard waits until exactly one guard stands, and it is none of those before.
func (r *rig) guard(before ...int) proc {
	r.t.Helper()
	var g proc
	eventually(r.t, soon, "there is one guard", func() error {
		all := r.guards()
		if len(all) != 1 {
			return fmt.Errorf("guards: %v", all)
		}
		if g = all[0]; g.comm != "proc-guard" {
			return fmt.Errorf("%v does not stand yet", g)
		}
		for _, pid := range before {
			if g.pid == pid {
				return fmt.Errorf("still pid %d", pid)
			}
		}
		return nil
	})
	return g
}

// unguarded waits until no guard is left.
func (r *rig) unguarded(limit time.Duration) {
	r.t.Helper()
	eventually(r.t, limit, "the guard has ended", func() error {
		if all := r.guards(); len(all) > 0 {
			return fmt.Errorf("guards: %v", all)
		}
		return nil
	})
}

// sleepers gives the live processes that sleep for this many seconds: a number
// that no other test uses tells them apart, markers or not.
func sleepers(seconds string) []proc {
	return living(func(p proc) bool {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		return len(args) == 2 && filepath.Base(args[0]) == "sleep" && args[1] == seconds
	})
}

// naps counts the times that aNap has given.
var naps atomic.Int64

// aNap is a time to sleep, in seconds, that nobody else on the machine sleeps: what
// another run may have left is not taken for what this one has started.
func aNap() string { return fmt.Sprintf("%d%03d", os.Getpid(), naps.Add(1)) }

// up waits until so many processes sleep for this many seconds.
func up(t *testing.T, seconds string, n int) []proc {
	t.Helper()
	var all []proc
	eventually(t, soon, fmt.Sprintf("%d processes sleep %s", n, seconds), func() error {
		if all = sleepers(seconds); len(all) != n {
			return fmt.Errorf("%v", all)
		}
		return nil
	})
	return all
}

// manyOf is a workload of many processes: children, a session of its own, a double
// fork, a member without environment. All sleep for the same time.
func manyOf(name, seconds string, more ...string) string {
	s := "sleep " + seconds
	script := s + " & sh -c '" + s + "; true' & setsid " + s + " & (setsid sh -c '" + s + " & " + s + " & exit') & env -i " + s + " & wait"
	return manifest("Agent", name, fmt.Sprintf("command: [sh, -c, %q]\n", script)+strings.Join(more, "\n"))
}

const treeSize = 6 // sleepers

// killedWithin kills the controller and waits until nothing of the trees is
// left, for the grace period and two seconds more.
func (r *rig) killedWithin(grace time.Duration, seconds ...string) {
	r.t.Helper()
	r.crash()
	eventually(r.t, grace+2*time.Second, "nothing of the trees is left", func() error {
		var left []proc
		for _, s := range seconds {
			left = append(left, sleepers(s)...)
		}
		if len(left) > 0 {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	})
}

func TestGuardEndsWholeTrees(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stopped, keptNap := aNap(), aNap()
	r.write("tree.yaml", manyOf("tree", stopped))
	r.write("kept.yaml", manyOf("kept", keptNap, "onControllerExit: Keep"))
	r.start()
	up(t, stopped, treeSize)
	kept := up(t, keptNap, treeSize)
	r.killedWithin(10*time.Second, stopped)
	r.unguarded(soon)
	throughout(t, 500*time.Millisecond, "the Keep workload is untouched", func() error {
		for _, p := range kept {
			if now, ok := lookup(p.pid); !ok || now.start != p.start {
				return fmt.Errorf("%v has ended", p)
			}
		}
		return nil
	})
	for _, p := range kept {
		end(p)
	}
}

// What ignores the stop signal is killed after its grace period, and not before.
func TestGuardKeepsTheGracePeriod(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]bool{"with a ledger": true, "without a state directory": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			if !state {
				if err := os.WriteFile(r.state, nil, 0o600); err != nil { // no directory can be there
					t.Fatal(err)
				}
			}
			seconds := aNap()
			r.write("a.yaml", manifest("Agent", "stubborn", fmt.Sprintf(
				"command: [sh, -c, 'trap \"\" TERM; sleep %s; sleep %s']\nterminationGracePeriodSeconds: 3", seconds, seconds)))
			r.start()
			up(t, seconds, 1)
			died := time.Now()
			r.crash()
			eventually(t, soon, "it is killed", func() error {
				if left := marked(r.owner); len(left) > 0 {
					return fmt.Errorf("left: %v", left)
				}
				return nil
			})
			if took := time.Since(died); took < 2900*time.Millisecond || took > 10*time.Second {
				t.Errorf("gone after %v, want 3 s of grace, and not the 10 s of the default", took)
			}
			r.unguarded(soon)
		})
	}
}

func TestGuardInScopes(t *testing.T) {
	t.Parallel()
	r := newScopedRig(t)
	stopped, keptNap := aNap(), aNap()
	script := fmt.Sprintf("env -i setsid sleep %[1]s & setsid sleep %[1]s & wait", stopped)
	r.write("a.yaml", manifest("Agent", "a", fmt.Sprintf("command: [sh, -c, %q]", script)))
	r.write("k.yaml", manifest("Agent", "k", "command: [sleep, '"+keptNap+"']\nonControllerExit: Keep"))
	r.start()
	r.running("agent/a")
	up(t, stopped, 2)
	kept := up(t, keptNap, 1)[0]
	if g := r.guard(); strings.Contains(cgroupOf(g.pid), "proc-controller-") {
		t.Errorf("the guard is in the scope of a workload: %s", cgroupOf(g.pid))
	}
	r.killedWithin(10*time.Second, stopped)
	nothingButKept := func() error { return stillRuns(kept.pid) }
	throughout(t, 300*time.Millisecond, "Keep is untouched", nothingButKept)
	r.unguarded(soon)
	if err := nothingButKept(); err != nil {
		t.Error(err)
	}
	end(kept)
}

// A controller that comes quickly waits for the guard, says so, adopts nothing
// that is about to end, and starts everything anew.
func TestQuickControllerWaitsForTheGuard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nap := aNap()
	r.write("a.yaml", manifest("Agent", "slow",
		`command: [sh, -c, 'trap "sleep 2; exit" TERM; sleep `+nap+` & wait']`))
	r.start()
	before := r.running("agent/slow")
	up(t, nap, 1)
	r.crash()
	r.start() // it waits, and is ready then
	if !strings.Contains(r.proc.stderr.String(), "waiting for the guard") {
		t.Errorf("it does not say that it waits")
	}
	if strings.Contains(r.proc.stderr.String(), "adopted") {
		t.Errorf("it has adopted what was being stopped")
	}
	if p, ok := lookup(before.Status.PID); ok && p.has("PROC_CONTROLLER_OWNER", r.owner) {
		t.Errorf("%v still runs", p)
	}
	after := r.running("agent/slow")
	if after.Status.PID == before.Status.PID || after.Status.Restarts != 0 {
		t.Errorf("pid %d, %d restarts; want another pid than %d, and no crash counted", after.Status.PID, after.Status.Restarts, before.Status.PID)
	}
	r.stop()
}

// What the controller had told, and the disk had not kept when it was killed, the guard
// writes down: what has done its work is not done again.
func TestGuardWritesDownWhatTheDiskHasNot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	runs := filepath.Join(t.TempDir(), "runs")
	r.write("once.yaml", manifest("Agent", "once", "command: [sh, -c, 'echo ran >> "+runs+"']\nrestartPolicy: Never"))
	completed := func() {
		r.until("agent/once", "completed", func(o object) bool { return o.Status.Phase == "Completed" })
	}
	r.start()
	completed()
	r.forget()
	r.crash()
	r.start()
	completed()
	if b, _ := os.ReadFile(runs); string(b) != "ran\n" {
		t.Errorf("it has run again: %q", b)
	}
	r.stop()
}

// While a controller lives, a second one does not wait.
func TestGuardDoesNotHideALivingController(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.guard()
	res := r.run("run")
	if res.code != 1 || !strings.Contains(res.stderr, fmt.Sprint(r.pid())) {
		t.Errorf("exit code %d: %s", res.code, res.stderr)
	}
}

// Whoever waits for a guard can be told not to.
func TestWaitingControllerCanBeEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", manifest("Agent", "stubborn",
		"command: [sh, -c, 'trap \"\" TERM; while :; do sleep 0.2; done']\nterminationGracePeriodSeconds: 4"))
	r.start()
	minds(t, r.running("agent/stubborn").Status.PID, syscall.SIGTERM)
	r.crash()
	second := r.launch()
	eventually(t, soon, "it waits", func() error {
		if !strings.Contains(second.stderr.String(), "waiting for the guard") {
			return errors.New("it has not said so")
		}
		return nil
	})
	r.signal(syscall.SIGINT)
	if code := r.exit(2 * time.Second); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	nothingLeft(t, r.owner)
	r.unguarded(soon)
}

// A guard that is killed is replaced, by one that does the same.
func TestKilledGuardIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nap := aNap()
	r.write("tree.yaml", manyOf("tree", nap))
	r.start()
	up(t, nap, treeSize)
	first := r.guard()
	end(first)
	second := r.guard(first.pid)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR2} {
		if err := syscall.Kill(second.pid, sig); err != nil {
			t.Fatal(err)
		}
	}
	throughout(t, 500*time.Millisecond, "it hears none of the signals that end a controller", func() error {
		return stillRuns(second.pid)
	})
	if !strings.Contains(r.proc.stderr.String(), "guard has ended") {
		t.Errorf("the log says nothing of it")
	}
	r.killedWithin(10*time.Second, nap)
}

// The guard is no workload, no orphan, and small; it has nothing that would
// make anybody take it for one.
func TestGuardIsNoWorkload(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.env = append(r.env, "AGENT_NAME=outer", "NOTIFY_SOCKET=/nonexistent", "PROC_CONTROLLER_SUBPROCESS=1", "PROC_CONTROLLER_OWNER="+r.owner)
	r.write("a.yaml", agent("a"))
	r.start()
	r.running("agent/a")
	g := r.guard()
	for _, v := range g.env {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "PROC_CONTROLLER_") || name == "AGENT_NAME" || name == "NOTIFY_SOCKET" {
			t.Errorf("its environment has %s", v)
		}
	}
	if g.sid != g.pid || g.ppid != r.pid() {
		t.Errorf("session %d, parent %d; want its own, and the controller %d", g.sid, g.ppid, r.pid())
	}
	eventually(t, soon, "it is small", func() error { // what its beginning took it gives back
		kib := residentKiB(t, g.pid)
		if !raceDetector && kib >= 10<<10 {
			return fmt.Errorf("it takes %d KiB, want less than 10 MiB", kib)
		}
		t.Logf("the guard takes %d KiB", kib)
		return nil
	})
	// A scan takes a process for what it is once it is a second old.
	throughout(t, 1500*time.Millisecond, "it is nobody's", func() error {
		for _, p := range r.ps() {
			if p.PID == g.pid {
				return fmt.Errorf("ps shows it: %+v", p)
			}
		}
		return nil
	})
	r.write("b.yaml", agent("b")) // has the table looked at
	r.running("agent/b")
	if n := r.unattributed(); n != 0 {
		t.Errorf("%d unattributed processes", n)
	}
	// A clean end sends it away, leaves none, and the lock is free at once.
	r.stop()
	if strings.Contains(r.proc.stderr.String(), "does not leave") {
		t.Error("the guard had to be killed")
	}
	if all := r.guards(); len(all) > 0 {
		t.Errorf("left: %v", all)
	}
	r.start()
	r.stop()
}

// Wherever in its work a controller is killed, nothing stays.
func TestGuardWheneverTheControllerDies(t *testing.T) {
	const storm = 50
	many := func() string {
		var docs []string
		for i := range storm {
			docs = append(docs, agent(fmt.Sprintf("w%d", i)))
		}
		return strings.Join(docs, "---\n")
	}
	some := func(r *rig, n int) {
		eventually(r.t, soon, "some have started", func() error {
			if got := len(marked(r.owner)); got < n {
				return fmt.Errorf("%d", got)
			}
			return nil
		})
	}
	for name, until := range map[string]func(t *testing.T, r *rig){
		"in a storm of starts": func(t *testing.T, r *rig) {
			r.start()
			r.write("all.yaml", many())
			some(r, 3)
		},
		"in a stop with a long grace period": func(t *testing.T, r *rig) {
			r.write("a.yaml", manifest("Agent", "slow", `command: [sh, -c, 'trap "sleep 3; exit" TERM; sleep `+aNap()+` & wait']`))
			r.start()
			minds(t, r.running("agent/slow").Status.PID, syscall.SIGTERM)
			r.signal(syscall.SIGTERM)
			eventually(t, soon, "it stops", func() error {
				if !strings.Contains(r.proc.stderr.String(), "stopping  ") {
					return errors.New("not yet")
				}
				return nil
			})
		},
		"in a replacement": func(t *testing.T, r *rig) {
			r.write("all.yaml", many())
			r.start()
			some(r, storm)
			r.write("all.yaml", strings.ReplaceAll(many(), "'1000'", "'1001'"))
			eventually(t, soon, "some are replaced", func() error {
				for _, p := range marked(r.owner) {
					if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid)); strings.Contains(string(line), "1001") {
						return nil
					}
				}
				return errors.New("none")
			})
		},
		"in its own start": func(t *testing.T, r *rig) {
			r.write("all.yaml", many())
			r.launch()
			r.guard()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			until(t, r)
			r.crash()
			eventually(t, 12*time.Second, "nothing is left", func() error {
				if left := marked(r.owner); len(left) > 0 {
					return fmt.Errorf("left: %v", left)
				}
				return nil
			})
			r.unguarded(soon)
			if left := marked(r.owner); len(left) > 0 {
				t.Errorf("left after the guard: %v", left)
			}
		})
	}
}

// A guard whose log leads nowhere works all the same.
func TestGuardWithoutALog(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wrap = []string{"sh", "-c", `"$@" 2>&1 | head -n 1 >` + filepath.Join(r.dir, "head") + ` & wait`, "sh"}
	nap := aNap()
	r.write("tree.yaml", manyOf("tree", nap))
	r.launch()
	up(t, nap, treeSize)
	controllers := living(func(p proc) bool { return p.pid == r.guard().ppid })
	if len(controllers) != 1 {
		t.Fatalf("controllers: %v", controllers)
	}
	end(controllers[0])
	eventually(t, 12*time.Second, "nothing is left", func() error {
		if left := sleepers(nap); len(left) > 0 {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	})
	r.unguarded(soon)
}
