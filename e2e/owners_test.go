//go:build linux

package e2e

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Two controllers with workloads of the same names leave each other alone.
func TestOwnersDoNotTouchEachOther(t *testing.T) {
	t.Parallel()
	one, two := newRig(t), newRig(t)
	for _, r := range []*rig{one, two} {
		r.write("a.yaml", agent("a"))
		r.start()
	}
	first, second := one.running("agent/a"), two.running("agent/a")

	one.remove("a.yaml")
	gone(t, first.Status.PID)
	if err := stillRuns(second.Status.PID); err != nil {
		t.Error(err)
	}
	one.write("a.yaml", agent("a"))
	again := one.running("agent/a")
	two.stop()
	gone(t, second.Status.PID)
	throughout(t, time.Second, "the other's workload runs on", func() error { return stillRuns(again.Status.PID) })
}

// Without --owner two directories are two owners, whatever their base name.
func TestDefaultOwner(t *testing.T) {
	t.Parallel()
	one, two := newRig(t), newRig(t)
	owners := map[string]bool{}
	for _, r := range []*rig{one, two} {
		r.write("a.yaml", agent("a"))
		args := []string{"run", "--manifests", r.manifests, "--state-dir", r.state, "--socket", r.socket, "--scopes=off"}
		cmd := exec.Command(controllerBinary, args...)
		cmd.Env = r.env
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
		eventually(t, soon, "the workload runs", func() error {
			for _, p := range childrenOf(cmd.Process.Pid) {
				for _, v := range p.env {
					if o, ok := strings.CutPrefix(v, "PROC_CONTROLLER_OWNER="); ok {
						owners[o] = true
						return nil
					}
				}
			}
			return fmt.Errorf("%d has no child with an owner", cmd.Process.Pid)
		})
	}
	if len(owners) != 2 {
		t.Errorf("owners = %v, want two", owners)
	}
	for o := range owners {
		if !strings.HasPrefix(o, "m-") {
			t.Errorf("owner %q does not start with the name of the directory", o)
		}
	}
}

func TestSecondControllerOnTheSameDirectory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", agent("a"))
	r.start()
	o := r.running("agent/a")

	res := r.run("run", "--scopes=off")
	if res.code != 1 {
		t.Errorf("exit code %d, want 1", res.code)
	}
	if !strings.Contains(res.stderr, strconv.Itoa(r.pid())) {
		t.Errorf("stderr does not name pid %d: %q", r.pid(), res.stderr)
	}
	if n := strings.Count(res.stderr, "\n"); n != 1 {
		t.Errorf("the error has %d lines, want 1: %q", n, res.stderr)
	}
	if err := stillRuns(o.Status.PID); err != nil {
		t.Error(err)
	}
	r.kept("agent/a", o)
}

// What an agent starts inherits the markers. It is a descendant, no second
// instance, and a look-alike of another owner is never touched.
func TestPsTellsWhoIsWho(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", manifest("Agent", "a", "command: [sh, -c, 'setsid sleep 1001 & wait']"))
	r.start()
	main := r.running("agent/a")

	stray := exec.Command("sleep", "1002")
	stray.Env = append(cleanEnvironment(), runMarker+"="+runID, "PROC_CONTROLLER_SUBPROCESS=1",
		"PROC_CONTROLLER_OWNER="+r.owner+"-other", "AGENT_NAME=a", "PROC_CONTROLLER_INSTANCE=x-1")
	if err := stray.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stray.Process.Kill(); _ = stray.Wait() })

	eventually(t, soon, "ps shows all", func() error {
		var roles, others int
		for _, l := range r.ps("--all") {
			switch {
			case l.PID == main.Status.PID && l.Role == "main" && l.Verdict == "Ours" && l.OwnerAlive:
				roles++
			case l.Owner == r.owner && l.Role == "descendant" && l.Verdict == "Ours":
				roles++
			case l.PID == stray.Process.Pid && l.Owner == r.owner+"-other" && !l.OwnerAlive && len(l.Evidence) > 0:
				others++
			}
		}
		if roles != 2 || others != 1 {
			return fmt.Errorf("%d of 2 of ours, %d of 1 others", roles, others)
		}
		return nil
	})
	r.remove("a.yaml")
	nothingLeft(t, r.owner)
	if err := stillRuns(stray.Process.Pid); err != nil {
		t.Errorf("another owner's process: %v", err)
	}
}
