//go:build linux

package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
	for name, binary := range map[string]string{"clock-server": clockBinary, "proc-controller": controllerBinary} {
		if err := os.Symlink(binary, filepath.Join(r.dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(r.manifests, os.DirFS(filepath.Join(projectDir, "manifests"))); err != nil {
		t.Fatal(err)
	}
	r.start()
	_, port := r.available("mcp/clock")
	speak(t, port)
	r.available("mcp/controller")
	o := r.running("agent/heartbeat")
	r.until("agent/heartbeat", "has written to its log", func(object) bool {
		data, err := os.ReadFile(o.Status.Instances[0].Log)
		return err == nil && strings.HasPrefix(string(data), "heartbeat at ")
	})
	if res := r.run("get"); strings.Contains(res.stdout, "everything") {
		t.Errorf("a subdirectory is read:\n%s", res.stdout)
	}
}

// The manifests that the documents explain are valid ones. A block of YAML that
// has no kind is a part of one.
func TestManifestsOfTheDocumentsAreValid(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(projectDir, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	for page, least := range map[string]int{"README.md": 1, "docs/health.md": 1} {
		pages = append(pages, filepath.Join(projectDir, page))
		content, err := os.ReadFile(filepath.Join(projectDir, page))
		if err != nil || len(block.FindAll(content, -1)) < least {
			t.Errorf("%s explains no manifest: %v", page, err)
		}
	}
	r := newRig(t)
	for _, page := range pages {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range block.FindAllSubmatch(content, -1) {
			text := string(found[1])
			if !strings.Contains(text, "kind: ") || !strings.HasPrefix(text, "apiVersion") {
				continue
			}
			path := filepath.Join(r.dir, "page.yaml")
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if res := r.exec("validate", path); res.code != 0 {
				t.Errorf("%s: exit code %d for\n%s\n%s%s", page, res.code, text, res.stdout, res.stderr)
			}
		}
	}
}
