package spec

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The room is pure. What it needs from outside comes in as an argument.
func TestImportsNothingThatTouchesTheWorld(t *testing.T) {
	forbidden := map[string]string{
		"os":                           "files are read by the source",
		"os/exec":                      "programs are started by actuate",
		"path/filepath":                "a manifest means the same on every system: use path",
		"net":                          "ports are looked at by observe",
		"syscall":                      "signal numbers come from our own table",
		"golang.org/x/sys/unix":        "a manifest means the same on every system",
		"github.com/fsnotify/fsnotify": "files are watched by the source",
		"math/rand":                    "random tokens come in from the controller",
		"crypto/rand":                  "random tokens come in from the controller",
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			if why := forbidden[path]; why != "" {
				t.Errorf("%s imports %s: %s", name, path, why)
			}
			if strings.HasPrefix(path, "github.com/proc-controller/") {
				t.Errorf("%s imports %s: spec imports no other room", name, path)
			}
		}
	}
}
