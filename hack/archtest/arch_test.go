package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rules are those that look at one file; documented looks at all.
var rules = map[string]func(*file) []string{
	"direction":  direction,
	"purity":     purity,
	"noTestCode": noTestCode,
	"naming":     naming,
	"noSleep":    noSleep,
	"thinMain":   thinMain,
}

func TestArchitecture(t *testing.T) {
	files := sources(t, "../..")
	if len(files) < 20 {
		t.Fatalf("found only %d source files: the walk is broken", len(files))
	}
	for _, f := range files {
		for name, rule := range rules {
			for _, c := range rule(f) {
				t.Errorf("%s: %s: %s", name, f.path, c)
			}
		}
	}
	for _, c := range documented(files) {
		t.Errorf("documented: %s", c)
	}
}

// TestRulesBite shows each rule a file that breaks it.
func TestRulesBite(t *testing.T) {
	tests := []struct{ rule, path, src string }{
		{"direction", "spec/a.go", `package spec; import _ "` + module + `/observe"`},
		{"direction", "spec/a.go", `package spec; import _ "` + module + `/spec/source"`},
		{"direction", "observe/a.go", `package observe; import _ "` + module + `/actuate/journal"`},
		{"direction", "mcp/rpc/a.go", `package rpc; import _ "` + module + `/spec"`},
		{"direction", "controller/a.go", `package controller; import _ "` + module + `/actuate"`},
		{"direction", "actuate/scope/a.go", `package scope; import _ "` + module + `/controller"`},
		{"direction", "e2e/a_test.go", `package e2e; import _ "` + module + `/spec"`},
		{"direction", "cmd/proc-controller/a.go", `package main; import _ "` + module + `/hack/bench"`},
		{"direction", "hack/bench/a.go", `package main; import _ "` + module + `/actuate"`},
		{"direction", "hack/testsum/a.go", `package main; import _ "` + module + `/spec"`},
		{"direction", "pkg/a.go", `package pkg`},
		{"purity", "spec/a.go", `package spec; import _ "os"`},
		{"purity", "mcp/rpc/a.go", `package rpc; import _ "net"`},
		{"purity", "controller/a_linux.go", `package controller; import _ "golang.org/x/sys/unix"`},
		{"noTestCode", "observe/a.go", `package observe; import _ "testing"`},
		{"naming", "spec/util.go", `package spec`},
		{"naming", "observe/helpers_linux.go", `package observe`},
		{"naming", "actuate/common/a.go", `package common`},
		{"noSleep", "spec/a_test.go", `package spec; import "time"; func f() { time.Sleep(1) }`},
		{"thinMain", "cmd/proc-controller/main.go", `package main; func main() { a := 1; if a > 0 { b(); c() } }`},
	}
	for _, tt := range tests {
		if got := rules[tt.rule](parse(t, tt.path, tt.src)); len(got) == 0 {
			t.Errorf("%s does not complain about %s: %s", tt.rule, tt.path, tt.src)
		}
	}
	for _, src := range []string{"package spec", "// Package spec is.\npackage spec"} {
		if got := documented([]*file{parse(t, "spec/a.go", src)}); len(got) == 0 {
			t.Errorf("documented does not complain about %q", src)
		}
	}
}

func TestRulesLetPass(t *testing.T) {
	good := []*file{
		parse(t, "controller/doc.go", "// Package controller decides.\npackage controller"),
		parse(t, "controller/a.go", `package controller; import (_ "time"; _ "`+module+`/observe")`),
		parse(t, "controller/api/doc.go", "// Package api is.\npackage api"),
		parse(t, "controller/api/a.go", `package api; import (_ "net"; _ "`+module+`/controller")`),
		parse(t, "spec/source/a.go", `package source; import (_ "os"; _ "`+module+`/spec")`),
		parse(t, "spec/source/doc.go", "// Package source reads.\npackage source"),
		parse(t, "spec/source/a_test.go", `package source; import (_ "testing"; _ "`+module+`/observe")`),
		parse(t, "cmd/proc-controller/doc.go", "// Proc-controller runs.\npackage main"),
		parse(t, "cmd/proc-controller/main.go", `package main; import "os"; func main() { os.Exit(run(os.Args)) }`),
	}
	for _, f := range good {
		for name, rule := range rules {
			if got := rule(f); len(got) > 0 {
				t.Errorf("%s complains about %s: %q", name, f.path, got)
			}
		}
	}
	if got := documented(good); len(got) > 0 {
		t.Errorf("documented complains: %q", got)
	}
}

// sources parses every Go file of the product below root, for whatever system
// it is built.
func sources(t *testing.T, root string) (files []*file) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || rel == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(p, ".go") {
			src, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			files = append(files, parse(t, filepath.ToSlash(rel), string(src)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func parse(t *testing.T, path, src string) *file {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return &file{path: path, ast: f}
}
