//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// manager is the systemd user manager of this run, started on first use.
var manager = sync.OnceValues(func() (dir string, err error) {
	dir, err = os.MkdirTemp("", "e2e-um")
	if err != nil {
		return "", err
	}
	managerDir = dir
	cmd := exec.Command(filepath.Join(projectDir, "hack", "user-manager"), "start", dir)
	cmd.Env = cleanEnvironment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot start a user manager: %w\n%s", err, out)
	}
	return dir, nil
})

// managerDir is its XDG_RUNTIME_DIR, or "" while it was not asked for.
var managerDir string

// stopUserManager ends the user manager, if there is one.
func stopUserManager() error {
	if managerDir == "" {
		return nil
	}
	out, err := exec.Command(filepath.Join(projectDir, "hack", "user-manager"), "stop", managerDir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cannot stop the user manager: %w\n%s", err, out)
	}
	return nil
}

// newScopedRig gives a rig whose controller finds the user manager.
func newScopedRig(t *testing.T) *rig {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to start a systemd user manager apart from the machine's")
	}
	if _, err := exec.LookPath("systemd-run"); err != nil {
		t.Skip("systemd is not installed: install the package systemd")
	}
	dir, err := manager()
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	r.env = append(r.env, "XDG_RUNTIME_DIR="+dir)
	r.flags = []string{"--scopes=systemd", "--delete-hold=1s"}
	return r
}

// unit gives the unit of a workload's first instance.
func unit(t *testing.T, o object) string {
	t.Helper()
	if len(o.Status.Instances) == 0 {
		t.Fatalf("%s has no instance", o.Metadata.Name)
	}
	scope := o.Status.Instances[0].Scope
	u, ok := strings.CutPrefix(scope, "systemd: ")
	if !ok {
		t.Fatalf("scope = %q, want a systemd unit", scope)
	}
	return u
}

// property asks the user manager for a property of a unit.
func property(t *testing.T, unit, name string) string {
	t.Helper()
	cmd := exec.Command("systemctl", "--user", "show", "--value", "--property="+name, unit)
	cmd.Env = append(cleanEnvironment(), "XDG_RUNTIME_DIR="+managerDir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("systemctl show %s: %v\n%s", unit, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestScopeOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newScopedRig(t)
	r.write("a.yaml", agent("a"))
	r.write("b.yaml", agent("b"))
	r.start()
	a, b := r.running("agent/a"), r.running("agent/b")
	for _, o := range []object{a, b} {
		// The pid is the program's, not the wrapper's, and a child of ours.
		var p proc
		eventually(t, soon, "the wrapper has executed the program", func() (err error) {
			if p, _ = lookup(o.Status.PID); p.comm != "sleep" {
				err = fmt.Errorf("%v", p)
			}
			return err
		})
		if p.ppid != r.pid() || p.sid != p.pid {
			t.Errorf("%v: parent %d, session %d; want a child of %d that leads its session", p, p.ppid, p.sid, r.pid())
		}
		if got := cgroupOf(p.pid); !strings.HasSuffix(got, "/"+unit(t, o)) {
			t.Errorf("cgroup %q, want that of %s", got, unit(t, o))
		}
		if got := property(t, unit(t, o), "ActiveState"); got != "active" {
			t.Errorf("%s is %s", unit(t, o), got)
		}
	}
	if unit(t, a) == unit(t, b) {
		t.Errorf("both are in %s", unit(t, a))
	}

	// What left group, session and markers behind is still in the cgroup.
	r.write("c.yaml", manifest("Agent", "c", `command: [sh, -c, 'env -i setsid sleep 1234567 & wait']`))
	c := r.running("agent/c")
	inScope := func(p proc) bool { return strings.HasSuffix(cgroupOf(p.pid), "/"+unit(t, c)) }
	eventually(t, soon, "two processes are in the scope", func() error {
		if got := living(inScope); len(got) != 2 || got[0].comm == got[1].comm {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
	r.remove("c.yaml")
	eventually(t, soon, "the scope is empty", func() error {
		if left := living(inScope); len(left) > 0 {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	})
}

func TestScopedChildDiesWithTheController(t *testing.T) {
	t.Parallel()
	r := newScopedRig(t)
	r.write("a.yaml", agent("a"))
	r.write("t.yaml", manifest("Agent", "t", `command: [sh, -c, 'sleep 1001 & wait']`))
	r.start()
	o := r.running("agent/a")
	r.running("agent/t")
	r.crash()
	gone(t, o.Status.PID)
	nothingLeft(t, r.owner)
}

func TestLimitsArriveAsUnitProperties(t *testing.T) {
	t.Parallel()
	r := newScopedRig(t)
	r.write("a.yaml", agent("a", `resources: {limits: {memory: 64Mi, cpu: "1.5", pids: 50}}`))
	r.start()
	o := r.running("agent/a")
	for name, want := range map[string]string{
		"MemoryMax":          "67108864",
		"TasksMax":           "50",
		"CPUQuotaPerSecUSec": "1.5s", // of 1 s of wall time: one and a half cores
		"OOMPolicy":          "continue",
	} {
		got := property(t, unit(t, o), name)
		if d, err := time.ParseDuration(got); err == nil {
			got = d.String() // systemd writes 1.5s or 1.500000s, by its version
		}
		if got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

// exchangeWrapper gives the controller a systemd-run whose probes succeed, and
// which then does with a command what the script says.
func (r *rig) exchangeWrapper(script string) {
	r.t.Helper()
	fake := filepath.Join(r.dir, "systemd-run")
	must(r.t, writeProgram(fake, []byte("#!/bin/sh\n"+
		"for last; do :; done\n"+
		"[ \"$last\" = /bin/true ] && exit 0\n"+
		"while [ \"$1\" != -- ]; do shift; done; shift\n"+script+"\n")))
	// In a mount namespace of the controller's own the wrapper is exchanged.
	r.wrap = []string{
		"unshare", "--mount", "--propagation", "private", "sh", "-c",
		`real=$(readlink -f /usr/bin/systemd-run); mount --bind "$1" "$real"; shift; exec "$@"`, "sh", fake,
	}
}

// A wrapper that fails after a good probe may have run the command already: it
// is an error, and never a reason to run the command again without it. Here the
// wrapper is one that runs it and then says that it failed.
func TestFailingWrapperIsNotReplayed(t *testing.T) {
	t.Parallel()
	r := newScopedRig(t)
	r.exchangeWrapper("VIA=wrapper \"$@\"\nexit 1")
	ran := filepath.Join(r.dir, "ran")
	r.write("a.yaml", manifest("Agent", "a", fmt.Sprintf("command: [sh, -c, 'echo by ${VIA:-nobody} >>%s']\nrestartPolicy: Never", ran)))
	r.start()
	r.until("agent/a", "has failed", func(o object) bool { return o.Status.Phase == "Failed" || o.Status.Phase == "BackOff" })
	throughout(t, 2*time.Second, "the command ran once, by the wrapper", func() error {
		data, err := os.ReadFile(ran)
		if err != nil || string(data) != "by wrapper\n" {
			return fmt.Errorf("%q, %v", data, err)
		}
		return nil
	})
}

// What a failed start had begun is killed, and that stands in the event log like
// any other signal. Here the wrapper runs the program outside of every scope.
func TestKillOfAFailedStartIsAnEvent(t *testing.T) {
	t.Parallel()
	r := newScopedRig(t)
	r.exchangeWrapper(`"$@" & wait`)
	r.write("a.yaml", agent("a", "restartPolicy: Never"))
	r.start()
	failed := r.awaitEvent("the failed start", func(e event) bool { return e.Type == "StartFailed" && e.Reason == "WrapperFailed" })
	killed := r.awaitEvent("the kill", func(e event) bool { return e.Type == "Signalled" && e.Signal == "SIGKILL" })
	if killed.Key != failed.Key || killed.Reason != failed.Reason || killed.Result != "sent" || !killed.Group ||
		killed.PID == 0 || killed.StartTick == 0 || len(killed.Evidence) == 0 || killed.Time.After(failed.Time) {
		t.Errorf("%+v, and then %+v", killed, failed)
	}
	nothingLeft(t, r.owner)
}

// A manager that accepts and never answers costs the probe's 3 s, and leaves
// nothing of the probe.
func TestHangingProbe(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-run"); err != nil {
		t.Skip("systemd is not installed: install the package systemd")
	}
	r := newRig(t)
	r.flags = []string{"--scopes=systemd", "--delete-hold=1s"}
	runtime := filepath.Join(r.dir, "x")
	r.mkdir(filepath.Join(runtime, "systemd"), 0o700)
	for _, socket := range []string{"systemd/private", "bus"} {
		l, err := net.Listen("unix", filepath.Join(runtime, socket)) // the backlog accepts
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	r.env = append(r.env, "XDG_RUNTIME_DIR="+runtime)
	r.start()
	r.write("a.yaml", agent("a"))
	probes := func() []proc {
		return living(func(p proc) bool {
			return p.has(runMarker, runID) && p.has("XDG_RUNTIME_DIR", runtime) && strings.HasPrefix(p.comm, "systemd-run")
		})
	}
	var probe proc
	eventually(t, soon, "it probes", func() error {
		all := probes()
		if len(all) == 0 {
			return errors.New("it does not")
		}
		probe = all[0]
		return nil
	})
	r.write("quick.yaml", agent("quick", "scope: Off"))
	quick, o := r.running("agent/quick"), r.running("agent/a")
	if at := began(t, quick); at >= began(t, o) {
		t.Errorf("another workload waits for the probe: it began at tick %d, not before %d", at, began(t, o))
	}
	// In hundredths of a second. The 3 s begin before the probe does, on a busy machine by
	// a tenth of a second and more.
	if took := began(t, o) - probe.start; took < 200 || took > 570 {
		t.Errorf("it began %d0 ms after the probe, want the 3 s of one", took)
	}
	if s := o.Status.Instances[0].Scope; !strings.HasPrefix(s, "off: ") {
		t.Errorf("scope = %q, want off, and why", s)
	}
	if left := probes(); len(left) > 0 {
		t.Errorf("left of the probe: %v", left)
	}

	r.write("b.yaml", agent("b", "scope: Required"))
	o = r.until("agent/b", "says that it got no scope", func(o object) bool {
		return strings.Contains(o.Status.Reason+o.Status.Message, "cope") && o.Status.PID == 0
	})
	if o.Status.Phase == "Running" {
		t.Errorf("it runs without the scope that it requires")
	}
}

// A child environment without a bus means no scope, and status says so.
func TestNoBusNoScope(t *testing.T) {
	t.Parallel()
	r := newScopedRig(t)
	r.write("a.yaml", agent("a", "inheritEnv: [PATH, "+runMarker+"]"))
	r.start()
	o := r.running("agent/a")
	if s := o.Status.Instances[0].Scope; !strings.HasPrefix(s, "off: ") || len(s) <= len("off: ") {
		t.Errorf("scope = %q, want off, and why", s)
	}
}

// The policy of the host overrides the flag; a child's environment cannot.
func TestScopePolicyOfTheHost(t *testing.T) {
	t.Parallel()
	r := newScopedRig(t)
	r.env = append(r.env, "PROC_CONTROLLER_SCOPES= OFF ")
	r.write("a.yaml", agent("a"))
	r.start()
	o := r.running("agent/a")
	if s := o.Status.Instances[0].Scope; !strings.HasPrefix(s, "off: ") {
		t.Errorf("scope = %q, want off", s)
	}
}
