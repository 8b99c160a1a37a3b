//go:build linux && release

package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestDebianPackage builds the package for this machine, has lintian judge it,
// installs it below a root of its own, runs what was installed and removes it.
func TestDebianPackage(t *testing.T) {
	for _, tool := range []string{"dpkg", "lintian", "../../bin/tools/nfpm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s here: see hack/install-tools", tool)
		}
	}
	dist := t.TempDir()
	release := exec.Command("../release", "linux/"+runtime.GOARCH)
	release.Env = append(os.Environ(), "QUICK=1", "DIST="+dist, "VERSION=v1.2.3-rc.1", "SOURCE_DATE_EPOCH=1700000000")
	run(t, release)
	deb := filepath.Join(dist, "proc-controller_1.2.3~rc.1_"+runtime.GOARCH+".deb")
	sums := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	sums.Dir = dist
	if out := run(t, sums); strings.Count(out, ": OK\n") != 2 {
		t.Errorf("the archive and the package have no checksum:\n%s", out)
	}
	archive := run(t, exec.Command("tar", "-tzf", filepath.Join(dist, "proc-controller_v1.2.3-rc.1_linux_"+runtime.GOARCH+".tar.gz")))
	for _, file := range []string{"/proc-controller\n", "/LICENSE\n", "/README.md\n", "/man/proc-controller-run.1\n", "/completions/zsh\n"} {
		if !strings.Contains(archive, file) {
			t.Errorf("the archive has no %s:\n%s", file, archive)
		}
	}
	run(t, exec.Command("lintian", "--allow-root", "--fail-on", "error", deb))
	install(t, deb)
}

// install has dpkg install and remove the package below a directory: the machine
// itself is not touched.
func install(t *testing.T, deb string) {
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/updates", "var/lib/dpkg/info"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dpkg := func(args ...string) {
		run(t, exec.Command("dpkg", append([]string{"--root=" + root, "--force-not-root", "--log=" + filepath.Join(root, "log")}, args...)...))
	}
	dpkg("--install", deb)
	program := filepath.Join(root, "usr/bin/proc-controller")
	if out := run(t, exec.Command(program, "version")); !strings.HasPrefix(out, "proc-controller v1.2.3-rc.1 (") {
		t.Errorf("it calls itself %q", out)
	}
	for _, file := range []string{
		"usr/share/man/man1/proc-controller.1.gz", "usr/share/bash-completion/completions/proc-controller",
		"usr/share/zsh/vendor-completions/_proc-controller", "usr/share/fish/vendor_completions.d/proc-controller.fish",
		"usr/share/doc/proc-controller/copyright", "usr/share/proc-controller/proc-controller.dev_v1alpha1.json",
	} {
		if st, err := os.Stat(filepath.Join(root, file)); err != nil || st.Size() == 0 || st.Mode().Perm() != 0o644 {
			t.Errorf("%s: %v, %v", file, st, err)
		}
	}
	dpkg("--remove", "proc-controller")
	if _, err := os.Stat(program); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", program, err)
	}
}

// run gives what a command said, and fails the test if it failed.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}
