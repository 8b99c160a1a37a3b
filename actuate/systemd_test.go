//go:build linux

package actuate

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// userManager starts a systemd user manager for one test and gives its
// XDG_RUNTIME_DIR. It must come before the Actuator, which would be the one to
// reap what the script leaves behind.
func userManager(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: a mount namespace and a cgroup for a user manager")
	}
	if _, err := exec.LookPath("systemd-run"); err != nil {
		t.Skip("needs systemd")
	}
	const script = "../hack/user-manager"
	dir := filepath.Join(t.TempDir(), "run")
	if out, err := exec.Command(script, "start", dir).CombinedOutput(); err != nil {
		t.Fatalf("cannot start a user manager: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command(script, "stop", dir).CombinedOutput(); err != nil {
			t.Errorf("cannot stop the user manager: %v: %s", err, out)
		}
	})
	return dir
}

func TestStartInASystemdScope(t *testing.T) {
	dir := userManager(t)
	a := newActuator(t, func(o *Options) {
		o.Scopes = scope.Systemd
		o.Environ = append(o.Environ, "XDG_RUNTIME_DIR="+dir)
	})
	e := shell(t, `echo "$PROC_CONTROLLER_INSTANCE"; sleep 100 & wait`)
	in := mustStart(t, a, e)
	if err := errandWithin(a, e, in, patience, "exit 0"); err != nil {
		t.Errorf("an errand: %v", err)
	}
	if in.Scope.Mode != observe.ScopeSystemd || in.Scope.Unit != observe.ScopeName("test", in.ID)+".scope" {
		t.Fatalf("scope %+v", in.Scope)
	}
	sid, _ := unix.Getsid(in.Main.PID)
	cgroup, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", in.Main.PID))
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", in.Main.PID))
	if sid != in.Main.PID || !strings.Contains(string(cgroup), in.Scope.Unit) || string(comm) != "sh\n" {
		t.Errorf("session %d, comm %q, cgroups %q", sid, comm, cgroup)
	}
	if got := strings.TrimSpace(output(t, in)); got != string(in.ID) {
		t.Errorf("the child knows itself as %q", got)
	}
	if sent, err := a.Signal(in, int(unix.SIGKILL), spec.KillTree); err != nil {
		t.Errorf("%+v, %v", sent, err)
	}
	if x := nextExit(t, a, in.LastMain); x.Signal != int(unix.SIGKILL) || x.OOM {
		t.Errorf("signal %d, OOM %v", x.Signal, x.OOM)
	}

	// The wrapper would give this one to a shell.
	plain := entry(t, "./plain")
	if err := os.WriteFile(filepath.Join(plain.Dir, "plain"), []byte("exit 5\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := a.Start(plain, newToken(), nil)
	if se, ok := errors.AsType[*StartError](err); !ok || se.Reason != spec.ReasonNotExecutable {
		t.Errorf("a script without interpreter gave %v", err)
	}
}
