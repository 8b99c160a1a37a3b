//go:build linux

package actuate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// ownCgroup makes a cgroup for a controller to run in, and removes it with what
// is below it.
func ownCgroup(t *testing.T) string {
	t.Helper()
	for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		var st unix.Statfs_t
		if unix.Statfs(mount, &st) != nil || st.Type != unix.CGROUP2_SUPER_MAGIC {
			continue
		}
		dir, err := os.MkdirTemp(mount, "actuate-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() {
			below, _ := filepath.Glob(dir + "/*/cgroup.procs")
			for _, procs := range below {
				_ = os.Remove(filepath.Dir(procs))
			}
			eventually(t, "the cgroup can be removed", func() bool { return os.Remove(dir) == nil })
		})
		return dir
	}
	t.Skip("needs a cgroup v2 hierarchy that we may write to")
	return ""
}

// A child is cloned into a cgroup whose name carries owner and instance, and is
// killed through it, even where no handle could be proven.
func TestStartInACgroup(t *testing.T) {
	dir := ownCgroup(t)
	errand := filepath.Join(t.TempDir(), "errand")
	t.Setenv(envErrand, "cat /proc/self/cgroup >"+errand+"; exec sleep 100")
	m := startMini(t, "controller", scope.Cgroup, entry(t, "sleep", "100"),
		"/bin/sh", "-c", fmt.Sprintf(`echo $$ > %s/cgroup.procs && exec "$0"`, dir))
	if m.Scope.Mode != observe.ScopeCgroup {
		t.Fatalf("scope %+v", m.Scope)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", m.Main.PID))
	if want := observe.ScopeName("test", m.ID) + "\n"; err != nil || !strings.HasSuffix(string(b), want) {
		t.Errorf("the child is in %q, not in %q", b, want)
	}
	if got := outputIn(t, errand); strings.Contains(got, string(m.ID)) {
		t.Errorf("an errand is in the cgroup of the instance, where it could hold up all starts: %q", got)
	}
	a := newActuator(t)
	in := &observe.Instance{
		Key: spec.Key{Kind: spec.KindMCPServer, Name: "work"}, ID: m.ID, Scope: m.Scope,
		Main: &observe.Process{Ident: m.Main, Verdict: observe.NotOurs},
	}
	if sent, err := a.Signal(in, int(unix.SIGKILL), spec.KillTree); err != nil {
		t.Errorf("%+v, %v", sent, err)
	}
	eventually(t, "the cgroup was killed", func() bool { return dead(m.Main.PID) })
}
