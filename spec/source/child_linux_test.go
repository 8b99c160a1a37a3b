package source

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asChild runs the test that calls it once more, in a process of its own with
// the given attributes, and reports what became of it. It returns true in that
// child, which then does the work.
func asChild(t *testing.T, attr *syscall.SysProcAttr) bool {
	t.Helper()
	if os.Getenv("SOURCE_TEST_CHILD") == t.Name() {
		return true
	}
	// The binary and the temporary directory must be within reach of whatever
	// the child may be.
	base, err := os.MkdirTemp("", "source-test-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	must(t, os.Chmod(base, 0o755))
	self, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	binary, tmp := filepath.Join(base, "test"), filepath.Join(base, "tmp")
	must(t, os.WriteFile(binary, self, 0o755))
	must(t, os.Mkdir(tmp, 0o755))
	if c := attr.Credential; c != nil {
		must(t, os.Chown(tmp, int(c.Uid), int(c.Gid)))
	}
	cmd := exec.Command(binary, "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v")
	cmd.Env = append(os.Environ(), "SOURCE_TEST_CHILD="+t.Name(), "TMPDIR="+tmp)
	cmd.Dir = base
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("in the child: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("the child did not pass:\n%s", out)
	}
	return false
}

// asUser runs the test as an unprivileged user.
func asUser(t *testing.T) bool {
	t.Helper()
	if os.Getuid() != 0 {
		return true
	}
	return asChild(t, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}})
}

// inUserNamespace runs the test as the root of a user namespace of its own, as
// which it may take kernel resources from itself.
func inUserNamespace(t *testing.T, flags uintptr) bool {
	t.Helper()
	return asChild(t, &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | flags,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	})
}
