package api

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOtherUserIsRefused opens every door that permissions can close, so that
// the peer's uid alone decides.
func TestOtherUserIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}}})
	for p, mode := range map[string]os.FileMode{
		path: 0o666, filepath.Dir(path): 0o711, filepath.Dir(filepath.Dir(path)): 0o711,
	} {
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
	}
	askAs := func(uid uint32) string {
		// The link leads to the binary without a walk through directories that
		// are closed to that user.
		cmd := exec.Command("/proc/self/exe")
		cmd.Dir = "/"
		cmd.Env = []string{envAsk + "=" + path}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("cannot ask as uid %d: %v\n%s", uid, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if got := askAs(0); got != "<nil>" {
		t.Errorf("root: %s", got)
	}
	if got, want := askAs(65534), "the peer is uid 65534; only uid 0 and root may"; !strings.Contains(got, want) {
		t.Errorf("another user: %s; want %q", got, want)
	}
}
