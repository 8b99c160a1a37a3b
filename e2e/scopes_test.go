//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// scopeModes are the ways in which workloads are fenced in.
var scopeModes = []struct {
	name string
	rig  func(*testing.T) *rig
}{
	{"off", func(t *testing.T) *rig { return newRig(t) }},
	{"systemd", newScopedRig},
	{"cgroup", newCgroupRig},
}

// newCgroupRig gives a rig whose controller runs in a cgroup of its own, which
// is left to it, and makes a cgroup in that for each workload.
func newCgroupRig(t *testing.T) *rig {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to make a cgroup and to delegate it")
	}
	root := unifiedMount()
	if root == "" {
		t.Skip("cgroup v2 is not mounted")
	}
	dir := filepath.Join(root, "e2e-"+runID+"-"+strings.ReplaceAll(t.Name(), "/", "-"))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("cannot make a cgroup: %v", err)
	}
	// Before the rig, so that this runs after everything of it has ended.
	t.Cleanup(func() { removeCgroup(t, dir) })
	r := newRig(t)
	if err := syscall.Setxattr(dir, "trusted.delegate", []byte("1"), 0); err != nil {
		t.Logf("cannot mark the cgroup as delegated: %v", err)
	}
	r.flags = []string{"--scopes=cgroup", "--delete-hold=1s"}
	r.wrap = []string{"sh", "-c", `echo $$ >"$1/cgroup.procs" && shift && exec "$@"`, "sh", dir}
	return r
}

// unifiedMount is where cgroup v2 is mounted, or "" (proc_pid_mountinfo(5)).
func unifiedMount() string {
	data, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); strings.Contains(line, " - cgroup2 ") && len(fields) > 4 {
			return fields[4]
		}
	}
	return ""
}

// removeCgroup removes a cgroup with all below it, which are empty by now.
func removeCgroup(t *testing.T, dir string) {
	var dirs []string
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	for i := len(dirs) - 1; i >= 0; i-- {
		path := dirs[i]
		eventuallyGone := func() error { return os.Remove(path) }
		if err := within(t.Context(), soon, eventuallyGone); err != nil && !os.IsNotExist(err) {
			if err = os.Remove(path); err != nil {
				t.Errorf("cannot remove a cgroup: %v", err)
			}
		}
	}
}
