//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// In a PID namespace with few pids strangers wear those of our dead, thousands of
// times, while workloads crash, are stopped, killed and adopted from a ledger
// that tells of processes long gone. No stranger gets a signal.
func TestPIDReuse(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, for a PID namespace")
	}
	if !hasPIDMaxOfItsOwn() {
		t.Skip("this kernel has one pid_max for all (needs Linux 6.14)")
	}
	cmd := exec.Command(testBinary(t), pidnsPayload, "TestPIDReuseInside")
	cmd.Env = append(os.Environ(), insideVariable+"="+controllerBinary)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestPIDReuseInside") {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "strangers") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

func hasPIDMaxOfItsOwn() bool {
	major, minor := kernelVersion()
	return major > 6 || major == 6 && minor >= 14
}

// family is a workload with members outside of its group, one of which is deaf.
func family(name string, version, grace int, more ...string) string {
	script := `env -i setsid sh -c 'trap "" TERM; sleep 0.7; exit' & setsid sleep 100 & sleep 100 & while :; do sleep 0.05; done`
	return manifest("Agent", name, fmt.Sprintf("command: [sh, -c, %q]\nenv: [{name: V, value: '%d'}]\nterminationGracePeriodSeconds: %d\n%s",
		script, version, grace, strings.Join(more, "\n")))
}

// TestPIDReuseInside is the part of TestPIDReuse that runs in the namespace.
func TestPIDReuseInside(t *testing.T) {
	if os.Getenv(insideVariable) == "" {
		return // not a skip: TestPIDReuse runs it
	}
	const rounds, wanted, limit = 400, 3000, 3 * time.Minute
	r := newRig(t)
	crashing := manifest("Agent", "crashing", "command: [sh, -c, 'sleep 100 & setsid sleep 0.1 & sleep 0.05; exit 1']\nbackoff: {initial: 10ms, max: 10ms}\nterminationGracePeriodSeconds: 0")
	r.write("crashing.yaml", crashing)
	r.write("kept.yaml", family("kept", 0, 1, "onControllerExit: Keep", "backoff: {initial: 10ms, max: 10ms}"))
	r.write("edited.yaml", family("edited", 0, 0))
	r.start()

	var mu sync.Mutex
	ours := map[int]bool{}
	look := func() []proc {
		found := marked(r.owner)
		mu.Lock()
		defer mu.Unlock()
		for _, p := range found {
			ours[p.pid] = true
		}
		return found
	}
	stop, done := make(chan struct{}), make(chan struct{})
	s := &strangers{}
	go func() {
		defer close(done)
		s.run(stop, func(pid int) bool { mu.Lock(); defer mu.Unlock(); return ours[pid] })
	}()
	began := time.Now()
	for round := 1; round <= rounds && s.worn.Load() < wanted && time.Since(began) < limit; round++ {
		switch round % 4 {
		case 0: // the ledger is stale when the next one reads it
			r.crash()
			for _, p := range look() {
				end(p)
			}
			enough := s.made.Load() + fewPIDs - 300
			eventually(t, soon, "strangers have taken their pids", func() error {
				if n := s.made.Load(); n < enough {
					return fmt.Errorf("%d more are due", enough-n)
				}
				return nil
			})
			r.start()
		case 1, 3:
			r.write("edited.yaml", family("edited", round, 0))
		case 2:
			r.write("kept.yaml", family("kept", round, 1, "onControllerExit: Keep", "backoff: {initial: 10ms, max: 10ms}"))
		}
		eventually(t, soon, fmt.Sprintf("round %d: both run", round), func() error {
			r.alive()
			mains := map[string]bool{}
			for _, p := range look() {
				for _, name := range []string{"kept", "edited"} {
					if p.sid == p.pid && p.has("AGENT_NAME", name) {
						mains[name] = true
					}
				}
			}
			if len(mains) != 2 {
				return fmt.Errorf("%v", mains)
			}
			return nil
		})
	}
	for _, name := range []string{"crashing", "kept", "edited"} {
		r.remove(name + ".yaml")
	}
	nothingLeft(t, r.owner)
	close(stop)
	<-done
	t.Logf("%d strangers, %d of them with the pid of a process of ours, %d pids in all", s.made.Load(), s.worn.Load(), len(ours))
	if len(s.hit) > 0 {
		t.Errorf("%d strangers were signalled: %v", len(s.hit), s.hit)
	}
	if n := s.worn.Load(); n < wanted {
		t.Errorf("only %d pids were used again, want %d", n, wanted)
	}
}
