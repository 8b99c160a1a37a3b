//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A controller that was installed runs under a real user manager, which knows when
// it is ready; what is kept outlives stops and changes of the unit.
func TestInstalledController(t *testing.T) {
	t.Parallel()
	r := newScopedRig(t)
	// The manager of the tests looks for units in one directory alone.
	units := filepath.Join(r.dir, ".config", "systemd")
	must(t, os.MkdirAll(units, 0o755))
	must(t, os.Symlink(filepath.Join(managerDir, ".units"), filepath.Join(units, "user")))
	r.write("keep.yaml", agent("keep", "onControllerExit: Keep"))
	r.write("stop.yaml", agent("stop"))
	install := func(want string, flags ...string) {
		t.Helper()
		args := append(append([]string{"install"}, r.paths()...), "--")
		res := r.exec(append(args, flags...)...)
		if res.code != 0 || !strings.Contains(res.stdout, want) {
			t.Fatalf("install: exit code %d, %q, want %q: %s", res.code, res.stdout, want, res.stderr)
		}
	}
	t.Cleanup(func() {
		if res := r.run("uninstall"); res.code != 0 {
			t.Errorf("uninstall: %s", res.stderr)
		}
		r.sweep(true)
	})
	install("created, started", "--scopes=cgroup")
	unit := "proc-controller-" + r.owner + ".service"
	keep, stop := r.running("agent/keep"), r.running("agent/stop")
	if got := property(t, unit, "ActiveState") + " " + property(t, unit, "StatusErrno"); got != "active 0" {
		t.Errorf("the unit is %s", got)
	}
	if got := cgroupOf(keep.Status.PID); !strings.Contains(got, "/"+unit+"/") {
		t.Errorf("it runs in %q, not below the unit", got)
	}
	install("unchanged\n", "--scopes=cgroup")

	systemctl(t, "stop", unit)
	gone(t, stop.Status.PID)
	must(t, stillRuns(keep.Status.PID))
	systemctl(t, "start", unit) // returns when it is ready
	if again := r.running("agent/keep"); again.Status.PID != keep.Status.PID {
		t.Errorf("kept as pid %d, and then pid %d", keep.Status.PID, again.Status.PID)
	}
	stop = r.running("agent/stop")

	install("configured, started", "--scopes=off")
	r.replaced("agent/stop", stop)
	must(t, stillRuns(keep.Status.PID))
	if res := r.run("uninstall"); res.code != 0 || !strings.Contains(res.stdout, unit+" removed") {
		t.Errorf("uninstall: %+v", res)
	}
	if got := property(t, unit, "ActiveState"); got != "inactive" {
		t.Errorf("the unit is %s", got)
	}
	must(t, stillRuns(keep.Status.PID))
	if res := r.run("uninstall"); res.code != 0 || !strings.Contains(res.stdout, "is not installed") {
		t.Errorf("uninstall once more: %+v", res)
	}
}

// The unit is one that systemd understands, whatever is in the paths.
func TestPrintedUnitIsValid(t *testing.T) {
	t.Parallel()
	r := newScopedRig(t)
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed: install the package systemd")
	}
	odd := filepath.Join(r.dir, `with blanks, 100% "$x" \t`)
	res := r.exec("install", "--print", "--manifests", odd, "--", "--scopes", "off")
	if res.code != 0 {
		t.Fatalf("install --print: %+v", res)
	}
	unit := filepath.Join(r.dir, "printed.service")
	must(t, os.WriteFile(unit, []byte(res.stdout), 0o644))
	cmd := exec.Command("systemd-analyze", "--user", "verify", unit)
	cmd.Env = r.env
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "printed.service") {
		t.Errorf("systemd-analyze verify: %v\n%s\n%s", err, out, res.stdout)
	}
	if res := r.exec("install", "--print", "--", "--scops", "off"); res.code != 2 || !strings.Contains(res.stderr, "did you mean --scopes?") {
		t.Errorf("a wrong flag of run: %+v", res)
	}
}

// systemctl tells the user manager to do something, and waits for it.
func systemctl(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("systemctl", append([]string{"--user"}, args...)...)
	cmd.Env = append(cleanEnvironment(), "XDG_RUNTIME_DIR="+managerDir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("systemctl %v: %v\n%s", args, err, out)
	}
}
