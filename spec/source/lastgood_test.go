package source

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

const broken = "kind: [MCPServer\n"

// memory keeps last good content as the controller's own would.
type memory struct {
	mu    sync.Mutex
	files map[string][]byte
}

func newMemory() *memory { return &memory{files: make(map[string][]byte)} }

func (m *memory) LastGood() map[string][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.files)
}

func (m *memory) Remember(file string, content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[file] = content
}

func (m *memory) Forget(file string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, file)
}

func (m *memory) has(file string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.files[file]
	return ok
}

func remembering(m Memory) func(*Options) { return func(o *Options) { o.Memory = m } }

func holding(d time.Duration) func(*Options) { return func(o *Options) { o.DeleteHold = d } }

// broken makes a file unparsable, and the object stays as it was.
func TestBrokenFileKeepsItsObjects(t *testing.T) {
	for name, content := range map[string]string{
		"syntax":        broken,
		"empty":         "",
		"binary":        "\x00\x01\x02",
		"unknown field": manifest("a", "2", "comand: x"),
		"too large":     "# " + strings.Repeat("x", 2<<20) + "\n" + manifest("a", "2"),
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, newDir(t))
			r.write("a.yaml", manifest("a", "1"))
			good := r.arg("a", "1")
			r.write("a.yaml", content)
			s := r.until("a problem", func(s *spec.Set) bool { return len(s.Lookup(server("a")).Problems) > 0 })
			e := s.Lookup(server("a"))
			if e.Gone() || e.Object != good.Object || e.Hash != good.Hash {
				t.Errorf("not kept: %s", show(s))
			}
			if p := e.Problems[0]; p.Message == "" || p.Reason != spec.ReasonInvalid || filepath.Base(p.File) != "a.yaml" {
				t.Errorf("problem %+v", p)
			}
			if proven, _, _ := s.Absence(server("a"), time.Now().Add(time.Hour)); proven {
				t.Error("its absence is proven")
			}
			r.write("a.yaml", manifest("a", "3"))
			r.until("the mended file", func(s *spec.Set) bool {
				e := s.Lookup(server("a"))
				return len(e.Problems) == 0 && e.Object.Spec.Command[1] == "3" && len(s.Doubts) == 0 && len(s.Notices) == 0
			})
		})
	}
}

func TestOneBrokenDocumentLeavesTheOthers(t *testing.T) {
	r := start(t, newDir(t))
	r.write("x.yaml", manifest("a", "1")+"---\n"+manifest("b", "1")+"---\n"+manifest("c", "1"))
	r.wants("a", "b", "c")
	// b is broken, and c is not there any more: that may be part of the mistake.
	r.write("x.yaml", manifest("a", "2")+"---\n"+manifest("b", "2", "nope: 1"))
	s := r.until("the new a", func(s *spec.Set) bool { return s.Lookup(server("a")).Object.Spec.Command[1] == "2" })
	a, b, c := s.Lookup(server("a")), s.Lookup(server("b")), s.Lookup(server("c"))
	if len(a.Problems) != 0 {
		t.Errorf("a has problems: %v", a.Problems)
	}
	if b.Object.Spec.Command[1] != "1" || len(b.Problems) != 1 || b.Problems[0].Line == 0 {
		t.Errorf("b: %+v %v", b.Object.Spec.Command, b.Problems)
	}
	if c.Gone() || len(c.Problems) != 1 {
		t.Errorf("c is gone or has no problem: %+v", c)
	}
	r.write("x.yaml", manifest("a", "2")+"---\n"+manifest("b", "2"))
	r.wants("a", "b")
}

// A key that moves into a file that is broken by a typing error is protected
// by its name in it; others are not.
func TestBrokenFileProtectsTheNamesInIt(t *testing.T) {
	r := start(t, newDir(t), holding(time.Millisecond))
	r.write("a.yaml", manifest("moved", "1"))
	r.write("b.yaml", manifest("other", "1"))
	r.wants("moved", "other")
	r.write("c.yaml", "name: moved\n"+broken)
	r.until("a doubt", func(s *spec.Set) bool { return len(s.Doubts) == 1 })
	r.remove("a.yaml")
	r.remove("b.yaml")
	s := r.until("both gone", func(s *spec.Set) bool { return len(wanted(s)) == 0 })
	later := time.Now().Add(time.Hour)
	if proven, why, _ := s.Absence(server("moved"), later); proven || !strings.Contains(why, "c.yaml") {
		t.Errorf("moved: proven %v, %q", proven, why)
	}
	if proven, why, _ := s.Absence(server("other"), later); !proven {
		t.Errorf("other is not believed to be gone: %s", why)
	}
}

func TestNeverGoodIsShownWithoutObject(t *testing.T) {
	r := start(t, newDir(t))
	r.write("a.yaml", manifest("a", "1", "nope: 1"))
	s := r.until("the key", func(s *spec.Set) bool { return s.Lookup(server("a")) != nil })
	if e := s.Lookup(server("a")); e.Object != nil || len(e.Problems) != 1 {
		t.Errorf("entry %+v", e)
	}
	r.write("b.yaml", manifest("a", "2"))
	r.arg("a", "2") // a good one stands before one that never was
}

func TestOtherGroupIsSkippedAndSaid(t *testing.T) {
	r := start(t, newDir(t))
	r.write("a.yaml", "apiVersion: apps/v1\nkind: Deployment\n---\n"+manifest("a", "1"))
	r.arg("a", "1")
	s := r.notice(spec.ReasonOtherGroup, "a.yaml", "Deployment")
	if len(s.Doubts) != 0 {
		t.Errorf("a doubt: %s", show(s))
	}
}

// What a controller remembers stands in for a file that is broken, busy or
// unreachable when the next one starts.
func TestLastGoodSurvivesTheController(t *testing.T) {
	cases := map[string]struct {
		spoil  func(t *testing.T, dir string)
		reason spec.Reason
	}{
		"broken": {func(t *testing.T, dir string) { replace(t, filepath.Join(dir, "a.yaml"), broken) }, spec.ReasonInvalid},
		"untrusted": {func(t *testing.T, dir string) {
			must(t, os.Chmod(filepath.Join(dir, "a.yaml"), 0o666))
		}, spec.ReasonUntrusted},
		"dangling link": {func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, "a.yaml")))
			must(t, os.Symlink("nowhere", filepath.Join(dir, "a.yaml")))
		}, spec.ReasonUnreadable},
		"directory missing": {func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)) }, spec.ReasonDirMissing},
		"directory untrusted": {func(t *testing.T, dir string) {
			must(t, os.Chmod(dir, 0o777))
		}, spec.ReasonUntrusted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir, m := newDir(t), newMemory()
			first := start(t, dir, remembering(m))
			first.write("a.yaml", manifest("a", "1", "envFrom: [{file: {path: ../x.env}}]"))
			replace(t, filepath.Join(filepath.Dir(dir), "x.env"), "A=1\n")
			good := first.arg("a", "1")
			first.stop()
			tc.spoil(t, dir)

			s := start(t, dir, remembering(m)).complete()
			e := s.Lookup(server("a"))
			if e == nil || e.Gone() || e.Hash != good.Hash {
				t.Fatalf("not kept: %s", show(s))
			}
			if len(e.Problems) == 0 || e.Problems[0].Reason != tc.reason {
				t.Errorf("problems %+v, want %s", e.Problems, tc.reason)
			}
			if proven, _, _ := s.Absence(server("a"), time.Now().Add(time.Hour)); proven {
				t.Error("its absence is proven")
			}
		})
	}
}

func TestMemoryForgetsWhatIsBelievedGone(t *testing.T) {
	dir, m := newDir(t), newMemory()
	path := filepath.Join(dir, "a.yaml")
	r := start(t, dir, remembering(m), holding(time.Millisecond), polling(5*time.Millisecond))
	r.write("a.yaml", manifest("a", "1"))
	r.arg("a", "1")
	r.write("a.yaml", broken)
	r.until("the mistake", func(s *spec.Set) bool { return len(s.Lookup(server("a")).Problems) > 0 })
	if got := m.LastGood()[path]; !bytes.Equal(got, []byte(manifest("a", "1"))) {
		t.Fatalf("remembered: %q", got)
	}
	r.remove("a.yaml")
	r.until("the entry dropped", func(s *spec.Set) bool { return len(s.Entries) == 0 })
	eventually(t, "the path forgotten", func() bool { return !m.has(path) })
}

// A file that was renamed and then changed is one: should the directory be gone
// when the next controller comes, what the old name held is of no account.
func TestMemoryForgetsAnOldNameAtOnce(t *testing.T) {
	for name, rename := range map[string]func(r *rig){
		"new one first": func(r *rig) { r.write("b.yaml", manifest("a", "1")); r.twice("a"); r.remove("a.yaml") },
		"old one first": func(r *rig) { r.remove("a.yaml"); r.held("a"); r.write("b.yaml", manifest("a", "1")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, m := newDir(t), newMemory()
			r := start(t, dir, remembering(m), holding(time.Hour))
			r.write("a.yaml", manifest("a", "1"))
			r.arg("a", "1")
			rename(r)
			r.until("the new name", func(s *spec.Set) bool { return filepath.Base(s.Lookup(server("a")).File) == "b.yaml" })
			r.write("b.yaml", manifest("a", "2"))
			want := r.arg("a", "2")
			r.stop()
			must(t, os.RemoveAll(dir))
			if e := start(t, dir, remembering(m)).complete().Lookup(server("a")); e == nil || e.Hash != want.Hash {
				t.Errorf("remembered: %v, want what %s held", e, want.File)
			}
		})
	}
}

// twice waits until two files hold a key, held until its deletion is.
func (r *rig) twice(name string) {
	r.until("it stands in two files", func(s *spec.Set) bool { return len(s.Notices) > 0 })
}

func (r *rig) held(name string) {
	r.until("its deletion is held", func(s *spec.Set) bool { return !s.Lookup(server(name)).HeldUntil.IsZero() })
}

// eventually looks at the world again and again until it is as wanted.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if ok() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

func TestLabels(t *testing.T) {
	for text, want := range map[string][]string{
		"name: files":            {"files", "name"},
		"- --flag=a-b/c.d_e":     {"a-b", "c", "d", "e", "flag"},
		"Files FILES fiLes":      nil,
		"-x- --":                 {"x"},
		"42 " + tooLong:          {"42"},
		"name: \"files\"\n{a,b}": {"a", "b", "files", "name"},
	} {
		words, ok := labels([]byte(text))
		if got := slices.Sorted(maps.Keys(words)); !ok || !slices.Equal(got, want) {
			t.Errorf("labels(%q) = %v, %v; want %v", text, got, ok, want)
		}
	}
	var many strings.Builder
	for i := range maxWords + 1 {
		fmt.Fprintf(&many, "w%d ", i)
	}
	for name, text := range map[string]string{
		"UTF-16": "n\x00a\x00m\x00e\x00", "not UTF-8": "\xff\xfe", "too many": many.String(),
	} {
		if words, ok := labels([]byte(text)); ok {
			t.Errorf("%s: %d words, want none believed", name, len(words))
		}
	}
}

var tooLong = strings.Repeat("a", maxName+1)

// A save that unlinks first and then fails (a full disk leaves an empty file)
// is a broken file like any other.
func TestBrokenAfterUnlinkKeepsItsObjects(t *testing.T) {
	r := start(t, newDir(t), holding(time.Minute))
	r.write("a.yaml", manifest("a", "1"))
	r.write("b.yaml", manifest("b", "1"))
	good := r.wants("a", "b").Lookup(server("a"))
	r.remove("a.yaml")
	r.wants("b")
	r.write("a.yaml", "")
	s := r.wants("a", "b")
	e := s.Lookup(server("a"))
	if e.Object != good.Object || len(e.Problems) == 0 || len(s.Doubts) != 1 {
		t.Errorf("not kept: %s", show(s))
	}
	r.remove("a.yaml")
	r.wants("b")
	r.write("a.yaml", manifest("c", "1"))
	r.wants("b", "c") // understood, and without it: gone
}
