//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// restart runs the verb, which has to succeed, and gives what the workload is then.
func (r *rig) restart(key string, args ...string) object {
	r.t.Helper()
	if res := r.run("restart", append([]string{key}, args...)...); res.code != 0 {
		r.t.Fatalf("restart %s: exit code %d: %s%s", key, res.code, res.stdout, res.stderr)
	}
	o, err := r.get(key)
	must(r.t, err)
	return o
}

// When the verb is back the former process is gone, the new one can be used, and
// nothing was counted: the next crash is the first.
func TestRestart(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"Recreate", "BlueGreen, progressDeadlineSeconds: 60"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.write("a.yaml", strings.Replace(blueGreen("1"), "BlueGreen, progressDeadlineSeconds: 60", strategy, 1))
			r.start()
			before, _ := r.available("mcp/a")
			former, _ := lookup(before.Status.PID)
			for range 2 {
				o := r.restart("mcp/a")
				if now, there := lookup(former.pid); there && now.start == former.start {
					t.Errorf("the former one still runs: %v", now)
				}
				if o.Status.PID == 0 || o.Status.PID == former.pid || o.Status.Restarts != 0 || o.condition("Ready").Status != "True" {
					t.Errorf("after the restart: %+v", o.Status)
				}
				if len(o.Status.Instances) != 1 || o.Status.Hash != before.Status.Hash {
					t.Errorf("after the restart: instances %+v, hash %s, was %s", o.Status.Instances, o.Status.Hash, before.Status.Hash)
				}
				former, _ = lookup(o.Status.PID)
			}
		})
	}
}

// A client that follows the endpoint does not notice a restart beside what runs.
func TestRestartUnderAClient(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", blueGreen("1"))
	r.start()
	_, port := r.available("mcp/a")
	c := newClient(port)
	running := r.follow(t.Context(), "a", c)
	t.Cleanup(running.Wait)
	for n := range 2 {
		o := r.restart("mcp/a")
		eventually(t, soon, "the client goes on", func() error {
			c.mu.Lock()
			defer c.mu.Unlock()
			if !c.pids[fmt.Sprint(o.Status.PID)] {
				return fmt.Errorf("restart %d: %v have answered, not pid %d", n, c.pids, o.Status.PID)
			}
			return nil
		})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.failures) > 0 {
		t.Errorf("%d of %d calls failed, the first with %q", len(c.failures), c.asked.Load(), c.failures[0])
	}
}

// Nothing is left of what the former instance has started, in or out of its group.
func TestRestartOfATree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", manifest("Agent", "a", "command: [sh, -c, 'sleep 1000 & setsid sleep 1000 & (setsid sh -c \"sleep 1000 & sleep 1000 & wait\" &) ; exec sleep 1000']"))
	r.start()
	r.running("agent/a")
	r.live(6)
	former := marked(r.owner)
	r.restart("agent/a")
	for _, p := range former {
		if now, there := lookup(p.pid); there && now.start == p.start {
			t.Errorf("%v is left", p)
		}
	}
	r.live(6)
}

// What crashes again and again is started at once, and what is done runs once more.
func TestRestartOfWhatDoesNotRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gate, runs := filepath.Join(r.dir, "gate"), filepath.Join(r.dir, "runs")
	r.write("a.yaml", manifest("Agent", "crash", fmt.Sprintf("command: [sh, -c, 'test -e %s && exec sleep 1000; exit 3']\nbackoff: {initial: 1h, max: 1h}", gate)))
	r.write("b.yaml", manifest("Agent", "once", fmt.Sprintf("command: [sh, -c, 'echo run >>%s']\nrestartPolicy: OnFailure", runs)))
	r.start()
	before := r.until("agent/crash", "waits", func(o object) bool { return o.Status.Phase == "BackOff" })
	r.until("agent/once", "is done", func(o object) bool { return o.Status.Phase == "Completed" })

	must(t, os.WriteFile(gate, nil, 0o644))
	if o := r.restart("agent/crash"); o.Status.PID == 0 || o.Status.Restarts != before.Status.Restarts {
		t.Errorf("after the restart: %+v", o.Status)
	}
	r.restart("agent/once")
	eventually(t, soon, "it has run twice", func() error {
		content, err := os.ReadFile(runs)
		if err == nil && strings.Count(string(content), "run") != 2 {
			err = fmt.Errorf("it has run %d times", strings.Count(string(content), "run"))
		}
		return err
	})
	r.until("agent/once", "is done again", func(o object) bool { return o.Status.Phase == "Completed" })
}

// background runs a verb with the rig's paths and does not wait.
func (r *rig) background(verb string, args ...string) (done func() result) {
	r.t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.Command(controllerBinary, append(append([]string{verb}, r.paths()...), args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = r.env, &stdout, &stderr
	must(r.t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	r.t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	return func() result {
		r.t.Helper()
		select {
		case <-ended:
		case <-time.After(2 * soon):
			r.t.Fatalf("%s has not ended", verb)
		}
		return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	}
}

// gated is a server that listens once there is a file; its former instance lives
// on meanwhile, and outlives the controller.
func gated(gate string) string {
	return manifest("MCPServer", "a", fmt.Sprintf(
		"command: [sh, -c, 'until [ -e %s ]; do sleep 0.1; done; exec %s']\nenv: [{name: %s, value: listen}]\nports: [{name: http, port: 0}]\n"+
			"strategy: {type: BlueGreen, progressDeadlineSeconds: 600}\nonControllerExit: Keep", gate, os.Args[0], payloadVariable))
}

// The controller is killed in the middle of a restart, and the next one goes on
// with it: whoever waits for it does not notice.
func TestRestartAcrossACrash(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gate := filepath.Join(r.dir, "gate")
	must(t, os.WriteFile(gate, nil, 0o644))
	r.write("a.yaml", gated(gate))
	r.start()
	before, _ := r.available("mcp/a")
	must(t, os.Remove(gate))
	done := r.background("restart", "mcp/a")
	r.until("mcp/a", "has a new one beside", func(o object) bool {
		return len(o.Status.Instances) == 2 && o.Status.PID == before.Status.PID
	})
	r.crash()
	r.start()
	must(t, stillRuns(before.Status.PID))
	must(t, os.WriteFile(gate, nil, 0o644))
	if res := done(); res.code != 0 || !strings.Contains(res.stdout, "mcpserver/a restarted (pid ") {
		t.Errorf("exit code %d: %s%s", res.code, res.stdout, res.stderr)
	}
	gone(t, before.Status.PID)
	r.live(1)
	r.remove("a.yaml")
	nothingLeft(t, r.owner)
}

// The controller dies while somebody waits, and no other one comes: it is said, and
// how to start one.
func TestRestartWithoutAController(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", manifest("Agent", "a", "command: [sleep, '1000']\nports: [{port: 0}]")) // it never listens
	r.start()
	r.until("agent/a", "is started", func(o object) bool { return o.Status.PID > 0 })
	done := r.background("restart", "agent/a")
	r.until("agent/a", "is restarted", func(o object) bool { return o.Status.PID > 0 && o.Status.RestartAskedAt != "" })
	r.crash()
	res := done()
	if res.code != 1 || !strings.Contains(res.stderr, "gives no answer any more") || !strings.Contains(res.stderr, "start one with: proc-controller run") {
		t.Errorf("exit code %d: %s%s", res.code, res.stdout, res.stderr)
	}
	nothingLeft(t, r.owner)
}
