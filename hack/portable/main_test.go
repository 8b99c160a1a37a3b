package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is missing on one system is a mistake there, and nowhere else; so is a
// mistake in a test.
func TestCheckFindsWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":     "module example.com/a\n\ngo 1.26\n",
		"a.go":       "package a\n\nimport \"os\"\n\nfunc A() int { os.Getpid(); return b() }\n",
		"b_linux.go": "package a\n\nfunc b() int { return 1 }\n",
		"a_test.go":  "package a\n\nimport \"testing\"\n\nfunc TestA(*testing.T) { A() }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	if mistakes, err := check("linux"); err != nil || len(mistakes) > 0 {
		t.Errorf("linux: %q, %v", mistakes, err)
	}
	mistakes, err := check("windows")
	if err != nil || len(mistakes) != 1 || !strings.Contains(mistakes[0], "undefined: b") {
		t.Errorf("windows: %q, %v", mistakes, err)
	}
}
