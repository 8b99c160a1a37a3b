//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// pretend starts a process that looks like something of ours. It notes each
// signal that it gets in the file of the returned path.
func (r *rig) pretend(t *testing.T, env []string, change ...func(*exec.Cmd)) (pid int, signals string) {
	t.Helper()
	// Beside the rig, since everybody may write there.
	dir, err := os.MkdirTemp("", "e2e-signals")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	signals = filepath.Join(dir, "got")
	cmd := exec.Command(publicBinary(t), strangerPayload, signals)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), runMarker + "=" + runID}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	for _, c := range change {
		c(cmd)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	eventually(t, soon, "the look-alike is ready", func() error { _, err := os.Stat(signals); return err })
	return cmd.Process.Pid, signals
}

// publicBinary is a copy of this program that every user may execute.
var publicCopy = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(controllerBinary), "e2e-payload")
	data, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = writeProgram(path, data)
	}
	return path, err
})

func publicBinary(t testing.TB) string {
	t.Helper()
	path, err := publicCopy()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// markersOf gives the markers of a process, changed: a name with a new value, or
// with "-" for none.
func markersOf(t *testing.T, pid int, change ...string) (env []string) {
	t.Helper()
	p, _ := lookup(pid)
	for _, v := range p.env {
		name, value, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "PROC_CONTROLLER_") && name != "AGENT_NAME" && name != "MCP_SERVICE_ID" {
			continue
		}
		if i := slices.Index(change, name); i >= 0 {
			value = change[i+1]
		}
		if value != "-" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// What looks like a workload and is none is explained, and never signalled:
// neither while the workload runs, nor when it is stopped, replaced, or taken
// over by another controller.
func TestLookAlikes(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, for other users and PID namespaces")
	}
	r := newRig(t)
	a := kept("a", "env: [{name: V, value: '1'}]", "terminationGracePeriodSeconds: 1")
	r.write("a.yaml", a)
	r.start()
	real := r.stamped("agent/a")
	all := func(change ...string) []string { return markersOf(t, real.Status.PID, change...) }
	nobody := func(c *exec.Cmd) { c.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534} }
	elsewhere := func(c *exec.Cmd) { c.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID }
	asArguments := func(c *exec.Cmd) { c.Args = append(c.Args, all()...) }

	rows := []struct {
		name     string
		env      []string
		change   func(*exec.Cmd)
		evidence string // "" where it carries no marker, and so is not shown
	}{
		{"no subprocess marker", all("PROC_CONTROLLER_SUBPROCESS", "-"), nil, "PROC_CONTROLLER_SUBPROCESS is missing"},
		{"no owner", all("PROC_CONTROLLER_OWNER", "-"), nil, "PROC_CONTROLLER_OWNER is missing"},
		{"no name", all("AGENT_NAME", "-"), nil, "exactly one of AGENT_NAME"},
		{"both names", append(all(), "MCP_SERVICE_ID=a"), nil, "exactly one of AGENT_NAME"},
		{"the other kind", append(all("AGENT_NAME", "-"), "MCP_SERVICE_ID=a"), nil, "known to belong to Agent/a"},
		{"another name", all("AGENT_NAME", "b"), nil, "known to belong to Agent/a"},
		{"another owner", all("PROC_CONTROLLER_OWNER", r.owner+"x"), nil, "is \"" + r.owner + "x\""},
		{"another user", all(), nobody, "runs as uid 65534"},
		{"another namespace", all(), elsewhere, "another PID namespace"},
		{"arguments", nil, asArguments, ""},
		{"parts of values", []string{"X=" + strings.Join(all(), " "), "Y=PROC_CONTROLLER_SUBPROCESS=1\nPROC_CONTROLLER_OWNER=" + r.owner, "MY_" + all()[0]}, nil, ""},
	}
	pids, signals := map[string]int{}, map[string]string{}
	for _, row := range rows {
		change := row.change
		if change == nil {
			change = func(*exec.Cmd) {}
		}
		pids[row.name], signals[row.name] = r.pretend(t, row.env, change)
	}
	explained := func() {
		t.Helper()
		eventually(t, soon, "each look-alike is explained", func() error {
			shown := append(r.ps("--all"), r.controller().Others...)
			for _, row := range rows {
				why, ours := "", false
				for _, l := range shown {
					if l.PID == pids[row.name] {
						why += strings.Join(l.Evidence, "; ") + " | "
						// ps says what the controller of that owner and user would
						// say, if there were one.
						ours = ours || l.Verdict == "Ours" && l.Owner == r.owner && l.OwnerAlive
					}
				}
				if row.evidence == "" && why == "" {
					continue
				}
				if ours || !strings.Contains(why, row.evidence) {
					return fmt.Errorf("%s (pid %d): ours %v, evidence %q, want %q", row.name, pids[row.name], ours, why, row.evidence)
				}
			}
			return nil
		})
	}
	// The end of one that leaves something behind makes the controller look.
	r.write("b.yaml", manifest("Agent", "b", "command: [sh, -c, 'sleep 1000 & exec sleep 1000']"))
	r.running("agent/b")
	r.remove("b.yaml")
	explained()
	again := r.until("agent/a", "is one", func(o object) bool { return o.Status.Phase == "Running" && len(o.Status.Instances) == 1 })
	if again.Status.PID != real.Status.PID || again.Status.Instances[0].Members != 0 {
		t.Errorf("the workload is pid %d with %d members, want %d alone", again.Status.PID, again.Status.Instances[0].Members, real.Status.PID)
	}
	r.crash()
	r.forget()
	r.start()
	explained()
	r.write("a.yaml", strings.Replace(a, "'1'", "'2'", 1))
	r.replaced("agent/a", real)
	r.remove("a.yaml")
	eventually(t, soon, "the workload is gone", func() error {
		if _, err := r.get("agent/a"); err == nil {
			return fmt.Errorf("it is still shown")
		}
		return nil
	})
	for _, row := range rows {
		if err := stillRuns(pids[row.name]); err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
		if data, _ := os.ReadFile(signals[row.name]); len(data) > 0 {
			t.Errorf("%s: it got signals: %s", row.name, data)
		}
	}
}

// A process whose environment cannot be read stands for nothing, blocks nothing
// and is not signalled.
func TestUnreadableLookAlike(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, to run a controller as another user")
	}
	r := newRig(t)
	r.user = &syscall.Credential{Uid: 65534, Gid: 65534}
	for _, dir := range []string{r.dir, r.manifests, filepath.Dir(r.socket)} {
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	r.flags = append(r.flags, "--trust-uid=0")
	r.write("a.yaml", kept("a"))
	r.start()
	r.stamped("agent/a")
	main := marked(r.owner)[0]
	pid, signals := r.pretend(t, append(markersOf(t, main.pid), "SECRET=1"), func(c *exec.Cmd) { c.SysProcAttr.Credential = r.user })
	r.crash()
	r.forget()
	r.start() // nothing but what can be read tells whose they are
	r.write("b.yaml", agent("b"))
	eventually(t, soon, "both workloads run, each once", func() error {
		if got := marked(r.owner); len(got) != 3 || !slices.ContainsFunc(got, func(p proc) bool { return p.pid == main.pid }) {
			return fmt.Errorf("%v, want two beside the look-alike", got)
		}
		return nil
	})
	r.remove("a.yaml")
	gone(t, main.pid)
	throughout(t, time.Second, "it is left alone", func() error {
		if data, _ := os.ReadFile(signals); len(data) > 0 {
			return fmt.Errorf("it got signals: %s", data)
		}
		return stillRuns(pid)
	})
	r.remove("b.yaml")
}

// A server that somebody starts from inside an agent, and that makes itself
// independent, is a descendant. Whether it goes with the agent, killMode says.
func TestServerStartedByAnAgent(t *testing.T) {
	t.Parallel()
	for mode, stays := range map[string]bool{"Tree": false, "Group": true} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.start()
			tr := r.plant("agent", "leader", []string{"server+daemon+session", "worker+session", "helper"}, "killMode: "+mode, "env: [{name: V, value: '1'}]")
			server, worker := tr.pid("server"), tr.pid("worker")
			main := r.running("agent/agent")
			eventually(t, soon, "it is a descendant", func() error {
				for _, l := range r.ps() {
					if l.PID == server && (l.Role != "descendant" || l.Key != "Agent/agent" || l.Verdict != "Ours") {
						return fmt.Errorf("%+v", l)
					}
				}
				return nil
			})
			if main.Status.PID == server || len(main.Status.Instances) != 1 {
				t.Fatalf("%+v", main.Status)
			}
			file := filepath.Join(r.manifests, tr.file)
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r.write(tr.file, strings.Replace(string(data), "'1'", "'2'", 1))
			newer := r.replaced("agent/agent", main)
			if !stays {
				gone(t, server)
				gone(t, worker)
				r.remove(tr.file)
				tr.nothingLeft(t)
				return
			}
			now := r.until("agent/agent", "names what stays", func(o object) bool {
				return strings.Contains(o.Status.Message, fmt.Sprintf("pid %d (", server)) && strings.Contains(o.Status.Message, fmt.Sprintf("pid %d (", worker))
			})
			if now.Status.PID != newer.Status.PID || now.condition("Ready").Status != "True" {
				t.Errorf("pid %d, ready %s; want %d, ready", now.Status.PID, now.condition("Ready").Status, newer.Status.PID)
			}
			r.remove(tr.file)
			gone(t, newer.Status.PID)
			for _, pid := range []int{server, worker} {
				if err := stillRuns(pid); err != nil {
					t.Error(err)
				}
			}
			for _, p := range tagged(tr.tag) {
				end(p)
			}
		})
	}
}
