package source

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/proc-controller/proc-controller/spec"
)

// patience bounds every wait of a test.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// rig is a source that runs on a real directory.
type rig struct {
	testing.TB
	dir    string
	source *Source
	last   *spec.Set
	stop   func()
}

// newDir gives a directory that is trusted whatever the umask of the tests.
func newDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(resolved(t, t.TempDir()), "manifests")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func resolved(t testing.TB, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// start runs a source on a directory until the test ends. Unless told otherwise
// it polls so rarely that only events can explain what it sees.
func start(t testing.TB, dir string, change ...func(*Options)) *rig {
	t.Helper()
	o := Options{Dir: dir, UID: os.Getuid(), Poll: time.Hour, Home: filepath.Dir(dir)}
	for _, c := range change {
		c(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	r := &rig{TB: t, dir: dir, source: s}
	r.stop = func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(patience):
			t.Error("Run did not end")
		}
		r.stop = func() {}
	}
	t.Cleanup(func() { r.stop() })
	return r
}

func polling(every time.Duration) func(*Options) {
	return func(o *Options) { o.Poll = every }
}

// until takes sets until one is as wanted.
func (r *rig) until(what string, ok func(*spec.Set) bool) *spec.Set {
	r.Helper()
	if r.last != nil && ok(r.last) {
		return r.last
	}
	deadline := time.After(patience)
	for {
		select {
		case set, open := <-r.source.Sets():
			if !open {
				r.Fatalf("the source ended while waiting for %s", what)
			}
			r.check(set)
			r.last = set
			if ok(set) {
				return set
			}
		case <-deadline:
			r.Fatalf("no set with %s; the last one: %s", what, show(r.last))
		}
	}
}

// check holds what is true of every set.
func (r *rig) check(set *spec.Set) {
	r.Helper()
	if !slices.IsSortedFunc(set.Entries, func(a, b *spec.Entry) int { return a.Key.Compare(b.Key) }) {
		r.Errorf("entries are not sorted: %s", show(set))
	}
	for i := range set.Doubts {
		if !slices.IsSorted(set.Doubts[i].Names) {
			r.Errorf("names of a doubt are not sorted: %v", set.Doubts[i].Names)
		}
	}
}

// complete waits for the first set.
func (r *rig) complete() *spec.Set {
	r.Helper()
	return r.until("a first read", func(s *spec.Set) bool { return s.Complete })
}

// wants waits until exactly the named servers are wanted.
func (r *rig) wants(names ...string) *spec.Set {
	r.Helper()
	slices.Sort(names)
	return r.until(fmt.Sprintf("exactly %v wanted", names), func(s *spec.Set) bool {
		return slices.Equal(wanted(s), names)
	})
}

// arg waits until a server has the given argument.
func (r *rig) arg(name, arg string) *spec.Entry {
	r.Helper()
	return r.until(name+" with "+arg, func(s *spec.Set) bool {
		e := s.Lookup(server(name))
		return e != nil && !e.Gone() && e.Object != nil && slices.Contains(e.Object.Spec.Command, arg)
	}).Lookup(server(name))
}

// notice waits for a notice with a reason about a file (by its base name).
func (r *rig) notice(reason spec.Reason, base, contains string) *spec.Set {
	r.Helper()
	return r.until(fmt.Sprintf("a notice %s about %s with %q", reason, base, contains), func(s *spec.Set) bool {
		return slices.ContainsFunc(s.Notices, func(f spec.Finding) bool {
			return f.Reason == reason && filepath.Base(f.File) == base && strings.Contains(f.Message, contains)
		})
	})
}

// write replaces a file of the directory in one step, as careful programs do.
func (r *rig) write(name, content string) {
	r.Helper()
	replace(r, filepath.Join(r.dir, name), content)
}

func (r *rig) remove(name string) {
	r.Helper()
	must(r, os.Remove(filepath.Join(r.dir, name)))
}

func replace(t testing.TB, path, content string) {
	t.Helper()
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
	must(t, os.WriteFile(tmp, []byte(content), 0o644))
	must(t, os.Rename(tmp, path))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func server(name string) spec.Key { return spec.Key{Kind: spec.KindMCPServer, Name: name} }

// manifest is a server whose command is sleep with an argument.
func manifest(name, arg string, more ...string) string {
	m := "apiVersion: proc-controller.dev/v1alpha1\nkind: MCPServer\nmetadata:\n  name: " + name +
		"\nspec:\n  command: [sleep, \"" + arg + "\"]\n"
	for _, line := range more {
		m += "  " + line + "\n"
	}
	return m
}

// wanted are the names of the keys that are not gone.
func wanted(s *spec.Set) []string {
	names := make(map[string]struct{})
	for _, e := range s.Entries {
		if !e.Gone() {
			names[e.Key.Name] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func show(s *spec.Set) string {
	if s == nil {
		return "none"
	}
	var b strings.Builder
	for _, e := range s.Entries {
		fmt.Fprintf(&b, "\n  %v %s held %v problems %v", e.Key, place(e), e.HeldUntil, e.Problems)
	}
	for _, d := range s.Doubts {
		fmt.Fprintf(&b, "\n  doubt %s %s all %v names %v: %s", d.File, d.Reason, d.All, d.Names, d.Message)
	}
	for _, n := range s.Notices {
		fmt.Fprintf(&b, "\n  notice %s:%d %s %s", n.File, n.Line, n.Reason, n.Message)
	}
	return b.String()
}
