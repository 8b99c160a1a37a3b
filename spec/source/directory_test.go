package source

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// reasonOf is the reason of the doubt about the directory itself.
func reasonOf(s *spec.Set, dir string) spec.Reason {
	for _, d := range s.Doubts {
		if d.File == dir && d.All {
			return d.Reason
		}
	}
	return ""
}

func (r *rig) directory(reason spec.Reason) *spec.Set {
	r.Helper()
	return r.until("the directory "+string(reason), func(s *spec.Set) bool { return reasonOf(s, r.dir) == reason })
}

func TestDirectoryMissingAtTheStart(t *testing.T) {
	dir := newDir(t)
	must(t, os.Remove(dir))
	r := start(t, dir)
	if s := r.complete(); reasonOf(s, dir) != spec.ReasonDirMissing {
		t.Fatalf("set %s", show(s))
	}
	back := time.Now()
	must(t, os.Mkdir(dir, 0o755))
	r.write("a.yaml", manifest("a", "1"))
	r.arg("a", "1")
	s := r.directory("")
	if len(s.Notices) > 0 {
		t.Errorf("notices are left: %s", show(s))
	}
	// What runs without a manifest has its hold from the first read that worked.
	if s.HoldUnknownUntil.Before(back.Add(DefaultDeleteHold)) {
		t.Errorf("unknown keys are held until %v, the directory is back since %v", s.HoldUnknownUntil, back)
	}
}

func TestDirectoryMissingWithItsParents(t *testing.T) {
	base := newDir(t)
	dir := filepath.Join(base, "x", "y")
	r := start(t, dir)
	r.complete()
	must(t, os.Mkdir(filepath.Join(base, "x"), 0o755))
	must(t, os.Mkdir(dir, 0o755))
	r.write("a.yaml", manifest("a", "1"))
	r.arg("a", "1")
}

// Removing the directory with all in it deletes nothing; what is not there
// when it comes back is gone after its hold.
func TestDirectoryRemovedAndCreatedAgain(t *testing.T) {
	for name, remove := range map[string]func(dir string) error{
		"removed": os.RemoveAll,
		"renamed": func(dir string) error { return os.Rename(dir, dir+".old") },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, newDir(t), holding(time.Minute))
			r.write("a.yaml", manifest("a", "1"))
			r.write("b.yaml", manifest("b", "1"))
			before := r.wants("a", "b").Lookup(server("a"))
			must(t, remove(r.dir))
			r.directory(spec.ReasonDirMissing)
			s := r.wants("a", "b")
			if proven, _, _ := s.Absence(server("a"), time.Now().Add(time.Hour)); proven {
				t.Error("a is believed to be gone")
			}
			must(t, os.Mkdir(r.dir, 0o755))
			r.write("a.yaml", manifest("a", "1"))
			s = r.until("b held", func(s *spec.Set) bool {
				b := s.Lookup(server("b"))
				return reasonOf(s, r.dir) == "" && b.Gone() && slices.Equal(wanted(s), []string{"a"})
			})
			if left := time.Until(s.Lookup(server("b")).HeldUntil); left < 30*time.Second {
				t.Errorf("b is held for %v: a directory that comes back may still be filled", left)
			}
			if s.Lookup(server("a")).Hash != before.Hash {
				t.Error("a has another hash")
			}
		})
	}
}

// A file that was waited for is not any more once the directory is out of
// sight, and is read when it is back.
func TestBusyFileGoesOutOfSight(t *testing.T) {
	dir := newDir(t)
	replace(t, filepath.Join(dir, "a.yaml"), manifest("a", "1"))
	f, err := os.OpenFile(filepath.Join(dir, "a.yaml"), os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	s, err := New(Options{Dir: dir, UID: os.Getuid()})
	must(t, err)
	defer s.watch.close()
	s.pass(time.Now())
	if s.cat.nextLook().IsZero() {
		t.Fatal("a busy file is not waited for")
	}
	must(t, os.Rename(dir, dir+".old"))
	s.woken(s.cat.nextLook())
	if next := s.cat.nextLook(); !next.IsZero() {
		t.Errorf("looked for again at %v", next)
	}
	must(t, f.Close())
	must(t, os.Rename(dir+".old", dir))
	s.pass(time.Now())
	if e := (<-s.sets).Lookup(server("a")); e == nil || e.Object == nil {
		t.Error("not read when it was back")
	}
}

// A pass that finds everything as it was gives no set, whatever is wrong there.
func TestUnchangedPassIsSilent(t *testing.T) {
	dir := newDir(t)
	replace(t, filepath.Join(dir, "a.yaml"), manifest("a", "1", "envFrom: [{file: {path: none}}]"))
	replace(t, filepath.Join(dir, "b.yaml"), broken)
	replace(t, filepath.Join(dir, "c.yaml"), manifest("b", "1")+"---\n"+manifest("a", "1"))
	replace(t, filepath.Join(dir, "d.yaml"), manifest("d", "1"))
	must(t, os.Chmod(filepath.Join(dir, "d.yaml"), 0o666))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "e.yaml")))
	must(t, os.Mkdir(filepath.Join(dir, "f.yaml"), 0o755))
	s, err := New(Options{Dir: dir, UID: os.Getuid()})
	must(t, err)
	defer s.watch.close()
	s.pass(time.Now())
	first := <-s.sets
	if len(first.Doubts) != 3 {
		t.Fatalf("first set: %s", show(first))
	}
	for range 2 {
		s.pass(time.Now())
	}
	if len(s.sets) > 0 {
		t.Errorf("first set: %s\nanother: %s", show(first), show(<-s.sets))
	}
}

func TestDirectoryIsAFile(t *testing.T) {
	dir := newDir(t)
	must(t, os.Remove(dir))
	must(t, os.WriteFile(dir, nil, 0o644))
	start(t, dir).directory(spec.ReasonUnreadable)
}

func TestDirectoryIsADanglingLink(t *testing.T) {
	dir := newDir(t)
	must(t, os.Remove(dir))
	must(t, os.Symlink(dir+".target", dir))
	r := start(t, dir)
	r.directory(spec.ReasonDirMissing)
	must(t, os.Mkdir(dir+".target", 0o755))
	r.write("a.yaml", manifest("a", "1"))
	r.arg("a", "1")
}

func TestDirectoryIsALinkLoop(t *testing.T) {
	dir := newDir(t)
	must(t, os.Remove(dir))
	must(t, os.Symlink(filepath.Base(dir), dir))
	start(t, dir).directory(spec.ReasonUnreadable)
}

// git-sync and deployment scripts swap a link: here the directory's own, and
// one above it.
func TestDirectoryLinkSwap(t *testing.T) {
	for name, below := range map[string]string{"itself": "", "above": "manifests"} {
		t.Run(name, func(t *testing.T) {
			base := newDir(t)
			release := func(n, arg string, names ...string) {
				dir := filepath.Join(base, n, below)
				must(t, os.MkdirAll(dir, 0o755))
				for _, k := range names {
					replace(t, filepath.Join(dir, k+".yaml"), manifest(k, arg))
				}
			}
			point := func(n string) {
				must(t, os.Symlink(n, filepath.Join(base, "next")))
				must(t, os.Rename(filepath.Join(base, "next"), filepath.Join(base, "current")))
			}
			release("r1", "1", "a", "b")
			release("r2", "2", "a", "c")
			point("r1")
			dir := filepath.Join(base, "current", below)
			r := start(t, dir)
			first := r.wants("a", "b").Lookup(server("a"))
			if first.Dir != dir {
				t.Errorf("paths count from %s, want the directory as given: %s", first.Dir, dir)
			}
			point("r2")
			s := r.wants("a", "c")
			if s.Lookup(server("a")).Object.Spec.Command[1] != "2" || !s.Lookup(server("b")).Gone() {
				t.Errorf("after the swap: %s", show(s))
			}
			replace(t, filepath.Join(base, "r2", below, "a.yaml"), manifest("a", "3"))
			r.arg("a", "3") // the new place is watched
		})
	}
}

// A ConfigMap volume: entries are links over ..data, which is swapped.
func TestConfigMapSwap(t *testing.T) {
	dir := newDir(t)
	revision := func(n, arg string) {
		must(t, os.Mkdir(filepath.Join(dir, n), 0o755))
		for _, k := range []string{"a", "b"} {
			replace(t, filepath.Join(dir, n, k+".yaml"), manifest(k, arg))
		}
		must(t, os.Symlink(n, filepath.Join(dir, "..data_tmp")))
		must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	revision("..2024_1", "1")
	for _, k := range []string{"a", "b"} {
		must(t, os.Symlink("..data/"+k+".yaml", filepath.Join(dir, k+".yaml")))
	}
	r := start(t, dir)
	r.arg("a", "1")
	r.arg("b", "1")
	revision("..2024_2", "2")
	must(t, os.RemoveAll(filepath.Join(dir, "..2024_1")))
	r.arg("a", "2")
	if s := r.until("b too", func(s *spec.Set) bool {
		return s.Lookup(server("b")).Object.Spec.Command[1] == "2"
	}); len(s.Notices)+len(s.Doubts) > 0 {
		t.Errorf("left over: %s", show(s))
	}
}

// An entry that is a link into another directory is watched there.
func TestLinkedEntry(t *testing.T) {
	r := start(t, newDir(t))
	elsewhere := newDir(t)
	replace(t, filepath.Join(elsewhere, "real.yaml"), manifest("a", "1"))
	must(t, os.Symlink(filepath.Join(elsewhere, "real.yaml"), filepath.Join(r.dir, "a.yaml")))
	if e := r.arg("a", "1"); e.File != filepath.Join(r.dir, "a.yaml") {
		t.Errorf("read from %s", e.File)
	}
	replace(t, filepath.Join(elsewhere, "real.yaml"), manifest("a", "2"))
	r.arg("a", "2")
}
