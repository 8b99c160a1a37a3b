package scope

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// show asks the user manager for properties of a unit.
func show(t *testing.T, unit string, properties ...string) string {
	t.Helper()
	cmd := exec.Command("systemctl", "--user", "show", unit, "--property="+strings.Join(properties, ","))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("systemctl show: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// prepared is a fence of the real manager.
func prepared(t *testing.T, s *Scopes, r Request) *Fence {
	t.Helper()
	f, err := s.Prepare(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	if f.Mode() != observe.ScopeSystemd {
		t.Fatalf("no scope: %+v", f.scope)
	}
	return f
}

func TestSystemdScope(t *testing.T) {
	env := managed(t)
	s := newScopes(t, Auto)
	r := request(t, env)
	pids := int64(50)
	r.Limits = spec.Limits{Memory: "64Mi", CPU: "1.5", PIDs: &pids}
	f := prepared(t, s, r)
	cmd := launch(t, f, env, "/bin/sh", "-c", "setsid sleep 60 & exec sleep 60")
	sc, err := f.Verify(t.Context(), cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}

	if want := observe.ScopeName(testOwner, r.Instance) + ".scope"; sc.Unit != want || filepath.Base(sc.Cgroup) != want {
		t.Errorf("scope %+v, want %s", sc, want)
	}
	if sid, err := unix.Getsid(cmd.Process.Pid); sid != cmd.Process.Pid {
		t.Errorf("the child's session is %d, %v; its pid %d", sid, err, cmd.Process.Pid)
	}
	want := "CPUQuotaPerSecUSec=1.500000s\nControlGroup=" + sc.Cgroup +
		"\nDescription=proc-controller MCPServer/files\nMemoryMax=67108864\nTasksMax=50"
	if got := show(t, sc.Unit, "ControlGroup", "Description", "MemoryMax", "CPUQuotaPerSecUSec", "TasksMax"); got != want {
		t.Errorf("the manager says\n%s\nwant\n%s", got, want)
	}
	if options, known := s.host.options.get(optOOM); known && options {
		if got := show(t, sc.Unit, "OOMPolicy"); got != "OOMPolicy=continue" {
			t.Error(got)
		}
	}
	if sc.LimitsNotApplied != (len(f.tree.notInForce(place{unified: sc.Cgroup}, f.limits)) > 0) {
		t.Errorf("limits are reported wrongly: %+v", sc)
	}

	eventually(t, "both processes are members", func() bool {
		members, err := s.Members(sc)
		return err == nil && len(members) == 2 && slices.Contains(members, cmd.Process.Pid)
	})
	if err := s.Kill(sc); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGKILL {
		t.Errorf("the child ended with %v", cmd.ProcessState)
	}
	eventually(t, "the manager has removed the scope", func() bool { return !s.exists(t, sc) })
	if members, err := s.Members(sc); len(members) != 0 || err != nil {
		t.Errorf("a scope that is gone has members %v, %v", members, err)
	}
	if err := s.Kill(sc); err != nil {
		t.Errorf("killing a scope that is gone: %v", err)
	}
}

func TestProgramThatEndsAtOnceIsInside(t *testing.T) {
	env := managed(t)
	s := newScopes(t, Systemd)
	for range 20 {
		f := prepared(t, s, request(t, env))
		cmd := launch(t, f, env, "/bin/true")
		if sc, err := f.Verify(t.Context(), cmd.Process.Pid); err != nil {
			t.Fatalf("Verify: %+v, %v", sc, err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}

func TestNameCanComeLater(t *testing.T) {
	env := managed(t)
	s := newScopes(t, Systemd)
	r := request(t, env)
	id := r.Instance
	r.Instance = ""
	f := prepared(t, s, r)
	if err := f.Name(id); err != nil {
		t.Fatal(err)
	}
	cmd := launch(t, f, env, "/bin/sleep", "60")
	if sc, err := f.Verify(t.Context(), cmd.Process.Pid); err != nil || sc.Unit != observe.ScopeName(testOwner, id)+".scope" {
		t.Errorf("scope %+v, %v", sc, err)
	}
}

func TestProgramWithTheNameOfTheWrapper(t *testing.T) {
	env := managed(t)
	s := newScopes(t, Systemd)
	program := filepath.Join(t.TempDir(), "systemd-run")
	sleep, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, sleep, 0o700); err != nil {
		t.Fatal(err)
	}
	f := prepared(t, s, request(t, env))
	cmd := launch(t, f, env, program, "60")
	if _, err := f.Verify(t.Context(), cmd.Process.Pid); err != nil {
		t.Error(err)
	}
}

func TestFailingWrapperIsToldAtOnce(t *testing.T) {
	env := managed(t)
	s := newScopes(t, Systemd)
	f := prepared(t, s, request(t, env))
	began := time.Now()
	// The manager is gone between probe and launch.
	cmd := launch(t, f, []string{"XDG_RUNTIME_DIR=" + t.TempDir()}, "/bin/sleep", "60")
	_, err := f.Verify(t.Context(), cmd.Process.Pid)
	if !errors.Is(err, ErrNotInside) || !strings.Contains(err.Error(), "systemd-run failed") {
		t.Errorf("Verify: %v", err)
	}
	if took := time.Since(began); took >= verifyWithin {
		t.Errorf("that took %v: its time was waited out", took)
	}
}

func TestManagerThatHangsAfterTheProbe(t *testing.T) {
	t.Parallel()
	env := managed(t)
	s := newScopes(t, Systemd)
	f := prepared(t, s, request(t, env))
	began := time.Now()
	cmd := launch(t, f, hangingManager(t), "/bin/sleep", "60")
	_, err := f.Verify(t.Context(), cmd.Process.Pid)
	if !errors.Is(err, ErrNotInside) || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("Verify: %v", err)
	}
	if took := time.Since(began); took < verifyWithin || took > 3*verifyWithin {
		t.Errorf("Verify took %v, its bound being %v", took, verifyWithin)
	}
}

func TestRequiredLimitsThatAreNotInForce(t *testing.T) {
	env := managed(t)
	s := newScopes(t, Systemd)
	r := request(t, env)
	r.Limits, r.Policy = spec.Limits{Memory: "64Mi"}, spec.ScopeRequired
	f := prepared(t, s, r)
	cmd := launch(t, f, env, "/bin/sleep", "60")
	sc, err := f.Verify(t.Context(), cmd.Process.Pid)
	dir, _ := s.host.tree.mount.path(sc.Cgroup)
	if isFile(filepath.Join(dir, "memory.max")) { // a machine with the controller
		if err != nil || sc.LimitsNotApplied {
			t.Errorf("Verify: %+v, %v", sc, err)
		}
		return
	}
	if !errors.Is(err, ErrLimitsNotApplied) || !sc.LimitsNotApplied {
		t.Errorf("Verify: %+v, %v; want ErrLimitsNotApplied", sc, err)
	}
}

// children counts the processes that this one has, dead or alive.
func children(t *testing.T) (n int) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		content, _ := os.ReadFile(task)
		n += len(strings.Fields(string(content)))
	}
	return n
}

func TestHangingManagerDelaysEachStartByItself(t *testing.T) {
	if _, ok := systemdRun(); !ok {
		t.Skip("systemd-run is not installed")
	}
	before := children(t)
	env := hangingManager(t)
	s := newScopes(t, Auto)
	began := time.Now()
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			f, err := s.Prepare(t.Context(), request(t, env))
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			if f.scope.Mode != observe.ScopeOff || !strings.Contains(f.scope.Note, "did not answer within 3s") {
				t.Errorf("scope %+v", f.scope)
			}
		})
	}
	wg.Wait()
	if took := time.Since(began); took < probeWithin || took > 5*probeWithin {
		t.Errorf("30 starts took %v, the bound of each being %v", took, probeWithin)
	}
	if after := children(t); after != before {
		t.Errorf("%d processes are left of the probes", after-before)
	}
	r := request(t, env)
	r.Policy = spec.ScopeRequired
	if _, err := s.Prepare(t.Context(), r); !errors.Is(err, ErrRequired) {
		t.Errorf("Prepare: %v, want ErrRequired", err)
	}
}

func TestNoManager(t *testing.T) {
	if _, ok := systemdRun(); !ok {
		t.Skip("systemd-run is not installed")
	}
	s := newScopes(t, Systemd)
	for note, env := range map[string][]string{
		"names no user manager": {"PATH=/bin", "XDG_RUNTIME_DIR="},
		"refused a probe scope": {"XDG_RUNTIME_DIR=" + t.TempDir()},
	} {
		f, err := s.Prepare(t.Context(), request(t, env))
		if err != nil {
			t.Fatal(err)
		}
		if f.scope.Mode != observe.ScopeOff || !strings.Contains(f.scope.Note, note) {
			t.Errorf("scope %+v, want a note that says %q", f.scope, note)
		}
	}
	if takes, known := s.host.options.get(optOOM); known {
		t.Errorf("a manager that is not there has taught us %v", takes)
	}
}

// BenchmarkSystemdStart is one start in a scope: probe, launch, verification.
func BenchmarkSystemdStart(b *testing.B) {
	if noManager != "" {
		b.Skip(noManager)
	}
	env := []string{"XDG_RUNTIME_DIR=" + os.Getenv("XDG_RUNTIME_DIR")}
	s, err := New(Options{Mode: Systemd, Owner: testOwner, Run: &runner{}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		id := spec.NewInstance("bench", instances.Add(1))
		f, err := s.Prepare(b.Context(), Request{Instance: id, Env: env, Dir: "/"})
		if err != nil {
			b.Fatal(err)
		}
		argv := f.Wrap([]string{"/bin/true"})
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = env
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		if _, err := f.Verify(b.Context(), cmd.Process.Pid); err != nil {
			b.Fatal(err)
		}
		_ = cmd.Wait()
	}
}
