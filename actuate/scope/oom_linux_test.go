package scope

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Out-of-memory kills are read from the scope's own directory, in either mode. A
// directory stands in for the hierarchy: many machines have no memory controller.
func TestOOMKilledIsReadFromTheScope(t *testing.T) {
	s := newScopes(t, Off)
	dir := t.TempDir()
	s.host.tree = tree{mount{dir: dir, root: "/"}}
	cgroup := "/user.slice/" + observe.ScopeName(testOwner, spec.NewInstance("x", 1))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(dir, cgroup), 0o700))
	for _, tt := range []struct {
		events string
		want   bool
	}{
		{"", false}, // no memory controller
		{"low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\n", false},
		{"low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 0\n", true},
	} {
		if tt.events != "" {
			must(os.WriteFile(filepath.Join(dir, cgroup, "memory.events"), []byte(tt.events), 0o600))
		}
		for _, mode := range []observe.ScopeMode{observe.ScopeSystemd, observe.ScopeCgroup} {
			if got := s.OOMKilled(observe.Scope{Mode: mode, Cgroup: cgroup}); got != tt.want {
				t.Errorf("%s with %q: %v, want %v", mode, tt.events, got, tt.want)
			}
		}
	}
}
