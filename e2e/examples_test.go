//go:build linux

package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var files []string
	dir := filepath.Join(projectDir, "manifests")
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".yaml") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 3 {
		t.Fatalf("found only %q", files)
	}
	if res := r.exec(append([]string{"validate"}, files...)...); res.code != 0 {
		t.Errorf("validate: exit code %d\n%s%s", res.code, res.stdout, res.stderr)
	}
}

// TestExamplesRun runs the examples as `make run` does: on a copy of manifests/
// beside a bin/ with the example server.
func TestExamplesRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mkdir(filepath.Join(r.dir, "bin"), 0o755)
	if err := os.Symlink(clockBinary, filepath.Join(r.dir, "bin", "clock-server")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(r.manifests, os.DirFS(filepath.Join(projectDir, "manifests"))); err != nil {
		t.Fatal(err)
	}
	r.start()
	_, port := r.available("mcp/clock")
	speak(t, port)
	o := r.running("agent/heartbeat")
	r.until("agent/heartbeat", "has written to its log", func(object) bool {
		data, err := os.ReadFile(o.Status.Instances[0].Log)
		return err == nil && strings.HasPrefix(string(data), "heartbeat at ")
	})
	if res := r.run("get"); strings.Contains(res.stdout, "everything") {
		t.Errorf("a subdirectory is read:\n%s", res.stdout)
	}
}

// The manifest that the README explains is a valid one.
func TestReadmeManifestIsValid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	readme, err := os.ReadFile(filepath.Join(projectDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for rest := string(readme); ; blocks++ {
		_, after, found := strings.Cut(rest, "```yaml\n")
		if !found {
			break
		}
		block, after, _ := strings.Cut(after, "```")
		rest = after
		path := filepath.Join(r.dir, "readme.yaml")
		if err := os.WriteFile(path, []byte(block), 0o644); err != nil {
			t.Fatal(err)
		}
		if res := r.exec("validate", path); res.code != 0 {
			t.Errorf("exit code %d for\n%s\n%s%s", res.code, block, res.stdout, res.stderr)
		}
	}
	if blocks == 0 {
		t.Error("the README explains no manifest")
	}
}
