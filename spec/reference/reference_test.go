package reference

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write manifests/schema and docs/manifests.md")

// What is checked in is what the types and their comments say now.
func TestGeneratedFilesAreUpToDate(t *testing.T) {
	for path, want := range map[string][]byte{
		"../../manifests/schema/proc-controller.dev_v1alpha1.json": Schema(),
		"../../docs/manifests.md":                                  Page(),
	} {
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Error(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		} else if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not up to date: run hack/generate (-want +got):\n%s", path, diff)
		}
	}
}

// said is a default as a comment tells it.
var said = regexp.MustCompile(`Default ([^ ]+?)[.;,](?: |$)`)

// What a comment says of a default is what decoding puts there.
func TestDefaultsAreWhatTheCommentsSay(t *testing.T) {
	told := 0
	for f := range Manifest().All() {
		m := said.FindStringSubmatch(f.Doc)
		if m == nil || m[1] == "0" {
			continue
		}
		if told++; fmt.Sprint(f.Default) != m[1] {
			t.Errorf("%s: the default is %v, and the comment says %q", f.Path, f.Default, f.Doc)
		}
	}
	if told < 20 {
		t.Errorf("only %d comments tell a default: the search is broken", told)
	}
}

func TestDefaults(t *testing.T) {
	root := Manifest()
	for path, want := range map[string]string{
		"spec.backoff.max": "5m", "spec.backoff.factor": "2", "spec.replicas": "1", "spec.inheritEnv": "[*]",
		"spec.readinessProbe.periodSeconds": "10", "spec.readinessProbe.httpGet.host": "127.0.0.1",
		"spec.lifecycle.preStop.httpGet.path": "/", "spec.mcp.path": "/mcp", "spec.dependsOn.condition": "Ready",
		"spec.strategy.progressDeadlineSeconds": "60", "spec.command": "<nil>", "spec.readinessProbe.exec.command": "<nil>",
		"spec.readinessProbe.httpGet.port": "<nil>", "spec.env.name": "<nil>", "spec.env.valueFrom.file.path": "<nil>",
	} {
		f := root.Find(strings.Split(path, ".")...)
		if f == nil || fmt.Sprint(f.Default) != want {
			t.Errorf("the default of %s: %+v, want %s", path, f, want)
		}
	}
}

// A type is described once, wherever it is used: so a change of its fields has to
// mean the same everywhere.
func TestAFieldOfATypeChangesTheSameEverywhere(t *testing.T) {
	seen := map[string]*Field{}
	for f := range Manifest().All() {
		if first := seen[f.id]; first != nil && (first.Change != f.Change || first.Required != f.Required) {
			t.Errorf("%s is %s and %s is %s", first.Path, first.Change, f.Path, f.Change)
		}
		seen[f.id] = f
		if f.Doc == "" {
			t.Errorf("%s has no words", f.Path)
		}
	}
	for _, table := range []map[string]bool{required, keysOf(kinds), keysOf(bounds())} {
		for id := range table {
			if seen[id] == nil {
				t.Errorf("%s is in a table and is no field", id)
			}
		}
	}
}

func keysOf[V any](m map[string]V) map[string]bool {
	keys := map[string]bool{}
	for k := range m {
		keys[k] = true
	}
	return keys
}

func TestLookup(t *testing.T) {
	for _, tt := range []struct{ path, want string }{
		{"spec.backoff.max", "spec.backoff.max"},
		{".spec.backoff", "spec.backoff"},
		{"spec.env[].valueFrom", "spec.env[].valueFrom"},
		{"spec.env.valueFrom.file", "spec.env[].valueFrom.file"},
		{"mcpserver.spec.env[0].name", "spec.env[].name"},
		{"mcp.spec.mcp", "spec.mcp"},
		{"agent", ""},
		{"kind", "kind"},
		{"metadata.labels.example.org/team", "metadata.labels"},
		{"spec.bakoff.max", `spec has no field "bakoff" (did you mean spec.backoff?)`},
		{"spec.Backoff", `spec has no field "Backoff" (did you mean spec.backoff?)`},
		{"backoff.max", `a manifest has no field "backoff" (did you mean spec.backoff.max?)`},
		{"replicsa", `a manifest has no field "replicsa" (did you mean spec.replicas?)`},
		{"spec.replicas.min", `spec.replicas has no field "min": it is of type integer`},
		{"agent.spec.mcp", "spec.mcp is for kind MCPServer only"},
		{"xyzzy", `a manifest has no field "xyzzy"`},
		{"", `a manifest has no field ""`},
		{"spec.", `spec has no field ""`},
	} {
		got := ""
		f, _, err := Lookup(tt.path)
		if err != nil {
			got = err.Error()
		} else {
			got = f.Path
		}
		if got != tt.want {
			t.Errorf("Lookup(%q): %q, want %q", tt.path, got, tt.want)
		}
	}
}
