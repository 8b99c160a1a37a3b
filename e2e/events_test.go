//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// event is one line of the event log.
type event struct {
	Time                                                 time.Time
	Type, Key, Instance, Signal, Reason, Result, Message string
	PID                                                  int
	StartTick                                            uint64
	ExitCode                                             *int
	Group                                                bool
	Evidence                                             []string
}

// events asks for all that is kept.
func (r *rig) events(args ...string) (all []event) {
	r.t.Helper()
	res := r.run("events", append(args, "--all", "-o", "json")...)
	if res.code != 0 {
		r.t.Fatalf("events: exit code %d: %s", res.code, res.stderr)
	}
	if err := json.Unmarshal([]byte(res.stdout), &all); err != nil {
		r.t.Fatalf("events: %v in %q", err, res.stdout)
	}
	return all
}

// awaitEvent waits for an event, since they are written a little later.
func (r *rig) awaitEvent(what string, is func(event) bool) (found event) {
	r.t.Helper()
	eventually(r.t, soon, "an event: "+what, func() error {
		all := r.events()
		for _, e := range all {
			if is(e) {
				found = e
				return nil
			}
		}
		return fmt.Errorf("not among %d", len(all))
	})
	return found
}

// Each turn in the life of a workload leaves its line, with evidence.
func TestEventsTellTheLifeOfAWorkload(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.write("a.yaml", agent("a", "backoff: {initial: 10ms, max: 10ms}"))
	first := r.running("agent/a")
	started := r.awaitEvent("started", func(e event) bool { return e.Type == "Started" && e.PID == first.Status.PID })
	if p, _ := lookup(started.PID); p.start != started.StartTick || started.Key != "Agent/a" || started.Reason != "Wanted" || started.Time.IsZero() {
		t.Errorf("%+v, and the process began at %d", started, p.start)
	}

	p, _ := lookup(first.Status.PID)
	end(p)
	second := r.replaced("agent/a", first)
	r.awaitEvent("the crash", func(e event) bool {
		return e.Type == "Exited" && e.PID == first.Status.PID && e.Signal == "SIGKILL" && e.Reason == "Error" && e.ExitCode == nil
	})
	r.awaitEvent("the restart", func(e event) bool {
		return e.Type == "Started" && e.PID == second.Status.PID && e.Reason == "Restart"
	})

	r.write("a.yaml", agent("a", "env: [{name: A, value: b}]"))
	third := r.replaced("agent/a", second)
	r.awaitEvent("the stop signal", func(e event) bool {
		return e.Type == "Signalled" && e.PID == second.Status.PID && e.Group && e.Signal == "SIGTERM" &&
			e.Reason == "SpecChanged" && e.Result == "sent" && len(e.Evidence) > 0 && e.StartTick != 0 && e.Instance != ""
	})
	r.awaitEvent("the end after it", func(e event) bool { return e.Type == "Exited" && e.PID == second.Status.PID && e.Reason == "Stopped" })

	r.write("b.yaml", manifest("Agent", "b", "command: [no-such-program-anywhere]"))
	r.awaitEvent("the failed start", func(e event) bool {
		return e.Type == "StartFailed" && e.Key == "Agent/b" && e.Reason == "ProgramNotFound" && strings.Contains(e.Message, "no-such-program")
	})

	r.remove("a.yaml")
	gone(t, third.Status.PID)
	r.awaitEvent("the removal", func(e event) bool {
		return e.Type == "Signalled" && e.PID == third.Status.PID && e.Reason == "NotWanted" && len(e.Evidence) > 0
	})
	r.awaitEvent("nothing left", func(e event) bool { return e.Type == "Gone" && e.Key == "Agent/a" })

	table := r.run("events", "agent/a", "--limit", "1000")
	if !strings.HasPrefix(table.stdout, "TIME ") || strings.Contains(table.stdout, "Agent/b") || !strings.Contains(table.stdout, "SIGTERM") {
		t.Errorf("the table:\n%s", table.stdout)
	}
	if old := r.run("events", "--since", "1ns"); old.stdout != "" || old.code != 0 {
		t.Errorf("of the last nanosecond: %d %q", old.code, old.stdout)
	}
	r.stop()
	if len(r.events("agent/a")) == 0 {
		t.Error("without a controller there are no events")
	}
}

func TestEventsTellOfAnAdoption(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", agent("a", "onControllerExit: Keep"))
	r.start()
	o := r.running("agent/a")
	r.crash()
	r.start()
	r.running("agent/a")
	r.awaitEvent("adopted", func(e event) bool {
		return e.Type == "Adopted" && e.PID == o.Status.PID && len(e.Evidence) > 0
	})
	r.remove("a.yaml")
	nothingLeft(t, r.owner)
}

// A process of another user that forged every marker is none of ours, and
// explain says why.
func TestExplainForgedMarkersOfAnotherUser(t *testing.T) {
	if syscall.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	t.Parallel()
	r := newRig(t)
	cmd := exec.Command("/bin/sleep", "1000")
	for _, v := range append(posedMarkers(r.owner, "a", "forged", "Stop"), runMarker+"="+runID) {
		cmd.Env = append(cmd.Env, strings.ReplaceAll(v, "TICK", fmt.Sprint(bootTick(t))))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	pid := strconv.Itoa(cmd.Process.Pid)
	eventually(t, soon, "it is explained", func() error {
		res := r.run("explain", pid)
		for _, want := range []string{": NotOurs\n", "  runs as uid 65534 (effective 65534), not as 0\n", "would never signal it"} {
			if res.code != 0 || !strings.Contains(res.stdout, want) {
				return fmt.Errorf("no %q (exit code %d):\n%s%s", want, res.code, res.stdout, res.stderr)
			}
		}
		return nil
	})
	if rows, _ := r.reap(0, "--include-keep"); len(rows) > 0 {
		t.Errorf("reaped %v", rows)
	}
	if err := stillRuns(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
}
