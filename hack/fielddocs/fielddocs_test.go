package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is checked in is what the comments say now.
func TestCommentsAreUpToDate(t *testing.T) {
	want, err := generate("../../spec")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../spec/reference/comments.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("spec/reference/comments.go is not what the comments say: run hack/generate (-want +got):\n%s", diff)
	}
}

// Users are told of every field, in words that begin with it as they write it.
func TestEveryFieldHasAComment(t *testing.T) {
	found, err := collect("../../spec")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 80 {
		t.Errorf("only %d comments: the walk is broken", len(found))
	}
	for name, text := range found {
		switch {
		case text == "":
			t.Errorf("%s has no comment", name)
		case !strings.HasSuffix(text, ".") || strings.Contains(text, "After Decode"):
			t.Errorf("%s: %q is not one paragraph for users", name, text)
		}
	}
}

func TestCollect(t *testing.T) {
	dir := t.TempDir()
	const src = `package spec

// Object is one thing.
//
// Not for users.
type Object struct {
	// MaxSize of it, in
	// bytes; Mode says how, and so does UpTo.
	//
	// Not for users.
	MaxSize int ` + "`json:\"maxSize,omitempty\"`" + `
	Mode *Mode ` + "`json:\"mode\"`" + ` // not for users
	// Parts have UpTo, and URLPath stays.
	Parts []Part ` + "`json:\"parts\"`" + `
}

// Mode is how.
type Mode string

// Fast: at once. Slow: not.
const (
	Fast Mode = "Fast"
	Slow Mode = "Slow"
)

// Part is a part.
type Part struct {
	// UpTo where.
	UpTo string ` + "`json:\"upTo\"`" + `
}

// Stranger is not part of it.
type Stranger struct{}
`
	if err := os.WriteFile(filepath.Join(dir, "object.go"), []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := collect(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"Object":         "Object is one thing.",
		"Object.MaxSize": "maxSize of it, in bytes; mode says how, and so does upTo.",
		"Object.Mode":    "",
		"Object.Parts":   "parts have upTo, and URLPath stays.",
		"Mode.values":    "Fast: at once. Slow: not.",
		"Part":           "Part is a part.",
		"Part.UpTo":      "upTo where.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
