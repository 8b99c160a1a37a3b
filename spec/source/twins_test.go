package source

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// Two files that hold one key and vanish in one step leave what stood for it:
// that of the other stands for it at no time, whichever is taken out first.
func TestTwinsThatVanishTogether(t *testing.T) {
	start := time.Unix(1000, 0)
	for _, order := range [][]string{{"a.yaml", "b.yaml"}, {"b.yaml", "a.yaml"}} {
		c := newCatalog(places{dir: "/m"}, noMemory{}, 5*time.Second)
		first, second := reads("a.yaml", "x", "other-key"), reads("b.yaml", "x", "other-key")
		second.docs[0].hash = "another"
		c.apply(first, start)
		c.apply(second, start)
		c.apply(reads("c.yaml", "other-key"), start) // which stays
		c.begin(start)
		want := c.set().Lookup(server("x")).Object
		c.vanish([]*file{c.files[order[0]], c.files[order[1]]}, start.Add(time.Second))
		c.suspend(func(*file) bool { return true })
		s := c.set()
		if x := s.Lookup(server("x")); x.Object != want || x.Hash == "another" {
			t.Errorf("without %v: %s", order, show(s))
		}
		if y := s.Lookup(server("other-key")); filepath.Base(y.File) != "c.yaml" {
			t.Errorf("without %v, c.yaml holds the other key: %s", order, show(s))
		}
	}
}

// A controller that starts without a directory has what the memory says, also of
// a name that a file once had. A directory that comes back bit by bit, and goes
// again, must not bring up what was there under that name.
func TestDirectoryThatComesBackBitByBit(t *testing.T) {
	dir, m := newDir(t), newMemory()
	m.Remember(filepath.Join(dir, "a.yaml"), []byte(manifest("x", "2")))
	m.Remember(filepath.Join(dir, "b.yaml"), []byte(manifest("x", "1")))
	away := dir + ".away"
	must(t, os.Rename(dir, away))
	r := start(t, dir, remembering(m), holding(time.Hour))
	r.complete()
	must(t, os.Rename(away, dir))
	r.write("other.yaml", manifest("other", "1"))
	r.wants("other")
	must(t, os.RemoveAll(dir))
	s := r.until("all of it kept", func(s *spec.Set) bool { return slices.Equal(wanted(s), []string{"other", "x"}) })
	if got := s.Lookup(server("x")).Object.Spec.Command[1]; got != "2" {
		t.Errorf("the argument of x is %s, want that of the file that stood for it: 2", got)
	}
}

// What a file held that was renamed, or taken apart, while no controller ran is
// forgotten as soon as something of it is found elsewhere, and not only after the
// hold: the directory may be gone when the next controller comes, which would take
// the one for a twin of the other.
func TestMemoryForgetsANameFromBefore(t *testing.T) {
	dir, m := newDir(t), newMemory()
	before := func(name, content string) string {
		path := filepath.Join(dir, name)
		m.Remember(path, []byte(content))
		return path
	}
	moved := before("a.yaml", manifest("x", "1")+"---\n"+manifest("other-key", "1"))
	gone := before("b.yaml", manifest("gone", "1"))
	r := start(t, dir, remembering(m), holding(time.Hour))
	r.complete()
	if !m.has(moved) || !m.has(gone) {
		t.Error("something is forgotten that has been found nowhere")
	}
	r.write("c.yaml", manifest("x", "2"))
	r.arg("x", "2")
	eventually(t, "the old name forgotten", func() bool { return !m.has(moved) })
	if !m.has(gone) {
		t.Error("forgotten before it is believed to be gone")
	}
}

// The same while a controller runs, though something of it is held.
func TestMemoryForgetsWhatIsTakenApart(t *testing.T) {
	dir, m := newDir(t), newMemory()
	r := start(t, dir, remembering(m), holding(time.Hour))
	r.write("a.yaml", manifest("x", "1")+"---\n"+manifest("gone", "1"))
	r.wants("x", "gone")
	r.remove("a.yaml")
	r.held("x")
	r.write("b.yaml", manifest("x", "2"))
	r.arg("x", "2")
	eventually(t, "the old name forgotten", func() bool { return !m.has(filepath.Join(dir, "a.yaml")) })
	r.held("gone")
}
