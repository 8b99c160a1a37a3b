//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// restarts are the ways in which one controller takes over from another.
var restarts = map[string]func(*rig){
	"killed":                  func(r *rig) { r.crash() },
	"killed, without a state": func(r *rig) { r.crash(); r.forget() },
	"ended":                   func(r *rig) { r.stop() },
	"ended, without a state":  func(r *rig) { r.stop(); r.forget() },
}

// stamped waits until a workload runs and its main processes can be told by their
// markers alone: on a busy machine a fork may come later than its stamp, and then
// only the ledger knows it. Such a workload is started anew.
func (r *rig) stamped(key string) object {
	r.t.Helper()
	for range 20 {
		if o := r.running(key); !slices.ContainsFunc(o.Status.Instances, r.late) {
			return o
		}
		if res := r.run("restart", key); res.code != 0 {
			r.t.Fatalf("restart: exit code %d: %s", res.code, res.stderr)
		}
	}
	r.t.Fatalf("%s was forked late 20 times in a row", key)
	return object{}
}

// late says that the main process of an instance was forked more than two ticks
// after the instance was named.
func (r *rig) late(in instance) bool {
	r.t.Helper()
	_, text, _ := strings.Cut(in.Instance, "-")
	tick, err := strconv.ParseUint(text, 10, 64)
	must(r.t, err)
	p, ok := lookup(in.PID)
	if !ok {
		r.t.Fatalf("%s (pid %d) has ended", in.Instance, in.PID)
	}
	return p.late(tick)
}

// forget deletes the state directory.
func (r *rig) forget() {
	r.t.Helper()
	// The guard of a controller that crashed still writes down what it does.
	if r.proc != nil {
		select {
		case <-r.proc.exited:
			r.unguarded(soon)
		default:
		}
	}
	must(r.t, os.RemoveAll(r.state))
}

// kept is an Agent that outlives the controller.
func kept(name string, more ...string) string {
	return agent(name, append(more, "onControllerExit: Keep", "backoff: {initial: 10ms, max: 10ms}")...)
}

// After any restart of the controller: what is right keeps its pid, what is
// outdated is replaced, what nobody wants any more goes after the hold, and
// nothing is started twice.
func TestAdoptionIsExact(t *testing.T) {
	for how, restart := range restarts {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.write("right.yaml", kept("right"))
			r.write("twice.yaml", kept("twice", "replicas: 2"))
			r.write("wrong.yaml", kept("wrong", "env: [{name: V, value: '1'}]"))
			r.write("stray.yaml", kept("stray"))
			r.start()
			right, wrong, stray := r.stamped("agent/right"), r.running("agent/wrong"), r.running("agent/stray")
			r.until("agent/twice", "has both", func(o object) bool { return len(o.Status.Instances) == 2 && o.Status.Phase == "Running" })
			twice := r.stamped("agent/twice")
			tr := r.plant("tree", "leader", []string{"a+session", "b+daemon+session"}, "onControllerExit: Keep")
			r.stamped("agent/tree")
			before := tr.members(t, 3)

			restart(r)
			r.write("wrong.yaml", kept("wrong", "env: [{name: V, value: '2'}]"))
			r.remove("stray.yaml")
			r.start()

			newer := r.replaced("agent/wrong", wrong)
			wantEnvironment(t, newer, "V", "2")
			gone(t, stray.Status.PID)
			for key, o := range map[string]object{"agent/right": right, "agent/twice": twice} {
				now := r.running(key)
				if fmt.Sprint(pidsOf(now)) != fmt.Sprint(pidsOf(o)) || now.Status.Restarts != o.Status.Restarts {
					t.Errorf("%s: pids %v, restarts %d; they were %v and %d", key, pidsOf(now), now.Status.Restarts, pidsOf(o), o.Status.Restarts)
				}
			}
			if after := tr.members(t, 3); idents(after) != idents(before) {
				t.Errorf("the tree was %v, is %v", before, after)
			}
			throughout(t, time.Second, "as many as are wanted", func() error { return r.count(1 + 2 + 1 + 3) })
			for _, file := range []string{"right.yaml", "twice.yaml", "wrong.yaml", tr.file} {
				r.remove(file)
			}
			nothingLeft(t, r.owner)
		})
	}
}

func pidsOf(o object) (pids []int) {
	for _, in := range o.Status.Instances {
		pids = append(pids, in.PID)
	}
	slices.Sort(pids)
	return pids
}

// Back-off and counts go on where the ledger is, and begin anew where it is not.
func TestCountsOutliveTheController(t *testing.T) {
	t.Parallel()
	for name, remembers := range map[string]bool{"with the ledger": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			starts := filepath.Join(r.dir, "starts")
			started := func(want int) { // no more, and no less
				t.Helper()
				eventually(t, soon, fmt.Sprintf("%d starts", want), func() error {
					if content, err := os.ReadFile(starts); err != nil || len(content) != want {
						return fmt.Errorf("%d, %v", len(content), err)
					}
					return nil
				})
			}
			// It is tried once more, and then not for an hour.
			r.write("a.yaml", manifest("Agent", "a", "command: [sh, -c, 'printf x >>"+starts+"; exit 3']\nonControllerExit: Keep\nbackoff: {initial: 100ms, max: 1h, factor: 1000000}"))
			r.write("b.yaml", kept("b"))
			r.start()
			a := r.until("agent/a", "backs off for long", func(o object) bool { return o.Status.Phase == "BackOff" && o.Status.Restarts == 1 })
			started(2)
			b := r.running("agent/b")
			p, _ := lookup(b.Status.PID)
			end(p)
			r.replaced("agent/b", b)
			b = r.stamped("agent/b")
			r.crash()
			if !remembers {
				r.forget()
			}
			r.start()
			if now := r.running("agent/b"); now.Status.PID != b.Status.PID || remembers && now.Status.Restarts != 1 {
				t.Errorf("b: pid %d, %d restarts; want %d and 1", now.Status.PID, now.Status.Restarts, b.Status.PID)
			}
			if !remembers {
				started(4)
				return
			}
			now := r.until("agent/a", "still backs off", func(o object) bool { return o.Status.Phase == "BackOff" })
			if lt := now.Status.LastTermination; now.Status.Restarts != a.Status.Restarts || lt == nil || lt.ExitCode != 3 {
				t.Errorf("a: %d restarts, last %+v; want %d and exit code 3", now.Status.Restarts, lt, a.Status.Restarts)
			}
			started(2)
		})
	}
}

// How an adopted process ended is known, though it is no child: from its zombie
// where nobody reaps it, from the kernel where somebody did.
func TestEndOfAnAdoptedProcess(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"hoards", "reaps"} {
		t.Run("a parent that "+mode, func(t *testing.T) {
			t.Parallel()
			if mode == "reaps" && !keepsExitStatus() {
				t.Skip("this kernel does not keep exit statuses (needs Linux 6.15)")
			}
			r := newRig(t)
			r.wrap = []string{testBinary(t), fosterPayload, mode}
			trap := "command: [sh, -c, 'trap \"exit 7\" USR1; while :; do sleep 0.05; done']\nonControllerExit: Keep\nrestartPolicy: Never"
			r.write("code.yaml", manifest("Agent", "code", trap))
			r.write("signal.yaml", agent("signal", "onControllerExit: Keep", "restartPolicy: Never"))
			r.start()
			code, signal := r.running("agent/code"), r.running("agent/signal")
			minds(t, code.Status.PID, syscall.SIGUSR1)
			r.crashUnderFoster()
			r.start()
			r.running("agent/code")
			r.running("agent/signal")
			began := time.Now()
			for pid, sig := range map[int]syscall.Signal{code.Status.PID: syscall.SIGUSR1, signal.Status.PID: syscall.SIGUSR2} {
				if err := syscall.Kill(pid, sig); err != nil {
					t.Fatal(err)
				}
			}
			ended := func(o object) bool { return o.Status.Phase == "Failed" && o.Status.LastTermination != nil }
			if lt := r.until("agent/code", "has ended", ended).Status.LastTermination; lt.ExitCode != 7 || lt.Signal != "" ||
				lt.FinishedAt.Before(began.Add(-time.Second)) || time.Since(lt.FinishedAt) > soon {
				t.Errorf("code: %+v, want exit code 7, now", lt)
			}
			if lt := r.until("agent/signal", "has ended", ended).Status.LastTermination; !strings.Contains(lt.Signal, "USR2") {
				t.Errorf("signal: %+v, want SIGUSR2", lt)
			}
		})
	}
}

// crashUnderFoster kills the controller and leaves its foster parent, to whom
// its workloads are handed, until the end of the test.
func (r *rig) crashUnderFoster() {
	r.t.Helper()
	foster := r.proc
	r.t.Cleanup(func() { _ = foster.cmd.Process.Kill(); <-foster.exited })
	for _, p := range childrenOf(r.pid()) {
		if p.comm == "proc-controller" {
			end(p)
			gone(r.t, p.pid)
		}
	}
	r.wrap, r.proc = nil, nil
}

// keepsExitStatus says that the kernel is 6.15 or later.
func keepsExitStatus() bool {
	major, minor := kernelVersion()
	return major > 6 || major == 6 && minor >= 15
}

// kernelVersion is that of uname(2), or zeros.
func kernelVersion() (major, minor int) {
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		_, _ = fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor)
	}
	return major, minor
}
