package source

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/proc-controller/proc-controller/spec"
)

func TestAddEditRemove(t *testing.T) {
	r := start(t, newDir(t))
	if s := r.complete(); len(s.Entries)+len(s.Doubts)+len(s.Notices) != 0 {
		t.Fatalf("an empty directory gave %s", show(s))
	}
	r.write("a.yaml", manifest("a", "1"))
	first := r.arg("a", "1")
	if first.File != filepath.Join(r.dir, "a.yaml") || first.Dir != r.dir || first.Line != 1 || first.Hash == "" {
		t.Errorf("entry %+v", first)
	}
	r.write("a.yaml", manifest("a", "2"))
	if e := r.arg("a", "2"); e.Hash == first.Hash {
		t.Error("the hash did not change with the command")
	}
	r.write("b.yml", manifest("b", "1"))
	r.write("c.json", `{"apiVersion":"proc-controller.dev/v1alpha1","kind":"MCPServer","metadata":{"name":"c"},"spec":{"command":["true"]}}`)
	r.wants("a", "b", "c")
	r.remove("a.yaml")
	s := r.wants("b", "c")
	e := s.Lookup(server("a"))
	if e == nil || !e.Gone() || e.Object == nil {
		t.Fatalf("a vanished key is not held: %s", show(s))
	}
}

// Each way in which programs save a file ends with the new content, and the
// key is never wanted with anything but the old or the new one.
func TestSaveStyles(t *testing.T) {
	styles := map[string]func(t *testing.T, path, content string) error{
		"in place": func(t *testing.T, path, content string) error {
			return os.WriteFile(path, []byte(content), 0o644)
		},
		"rename": func(t *testing.T, path, content string) error {
			replace(t, path, content)
			return nil
		},
		"unlink and create": func(t *testing.T, path, content string) error {
			must(t, os.Remove(path))
			return os.WriteFile(path, []byte(content), 0o644)
		},
		"backup and create": func(t *testing.T, path, content string) error {
			must(t, os.Rename(path, path+"~"))
			must(t, os.WriteFile(path, []byte(content), 0o644))
			return os.Remove(path + "~")
		},
		"bit by bit": func(t *testing.T, path, content string) error {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
			must(t, err)
			for i := range content {
				_, err := f.WriteString(content[i : i+1])
				must(t, err)
			}
			return f.Close()
		},
	}
	for name, save := range styles {
		t.Run(name, func(t *testing.T) {
			r := start(t, newDir(t))
			path := filepath.Join(r.dir, "a.yaml")
			r.write("a.yaml", manifest("a", "1"))
			r.arg("a", "1")
			must(t, save(t, path, manifest("a", "2")))
			s := r.until("the new content", func(s *spec.Set) bool {
				e := s.Lookup(server("a"))
				if e == nil || e.Object == nil || len(e.Problems) > 0 {
					t.Fatalf("seen in between: %s", show(s))
				}
				return !e.Gone() && e.Object.Spec.Command[1] == "2"
			})
			if len(s.Doubts) > 0 {
				t.Errorf("a doubt is left: %s", show(s))
			}
		})
	}
}

// Equal meaning is no news at all: the next set is the one of the next change.
func TestEqualMeaningIsNoChange(t *testing.T) {
	r := start(t, newDir(t))
	r.write("a.yaml", manifest("a", "1"))
	before := r.arg("a", "1")
	r.write("a.yaml", manifest("a", "1")+"# the same\n")
	r.write("b.yaml", manifest("b", "1"))
	if after := r.wants("a", "b").Lookup(server("a")); after != before {
		t.Errorf("another entry for equal meaning: %+v, %+v", before, after)
	}
}

func TestMoveKeepsHash(t *testing.T) {
	r := start(t, newDir(t))
	r.write("a.yaml", manifest("a", "1")+"---\n"+manifest("b", "1"))
	before := r.wants("a", "b").Lookup(server("b"))
	must(t, os.Rename(filepath.Join(r.dir, "a.yaml"), filepath.Join(r.dir, "z.yaml")))
	s := r.until("both in the other file", func(s *spec.Set) bool {
		e := s.Lookup(server("b"))
		return !e.Gone() && filepath.Base(e.File) == "z.yaml"
	})
	if e := s.Lookup(server("b")); e.Hash != before.Hash {
		t.Errorf("hash %v, was %v", e.Hash, before.Hash)
	}
}

// Of two files with one key the first wins, both are told, and the other takes
// over without a gap.
func TestTwoFilesOneKey(t *testing.T) {
	for _, tc := range []struct{ name, first, second string }{
		{"known first", "z.yaml", "a.yaml"},
		{"known first, in order", "a.yaml", "z.yaml"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := start(t, newDir(t))
			r.write(tc.first, manifest("k", "1"))
			r.arg("k", "1")
			r.write(tc.second, manifest("k", "2"))
			r.notice(spec.ReasonDuplicate, tc.first, "taken from here")
			s := r.notice(spec.ReasonDuplicate, tc.second, "ignored here")
			if e := s.Lookup(server("k")); filepath.Base(e.File) != tc.first || len(e.Problems) > 0 {
				t.Fatalf("the first did not win: %s", show(s))
			}
			r.remove(tc.first)
			s = r.until("the second to take over", func(s *spec.Set) bool {
				e := s.Lookup(server("k"))
				if e.Gone() {
					t.Fatalf("a gap: %s", show(s))
				}
				return filepath.Base(e.File) == tc.second
			})
			if len(s.Notices) > 0 {
				t.Errorf("still told: %s", show(s))
			}
		})
	}
}

func TestFirstReadOrdersTwins(t *testing.T) {
	dir := newDir(t)
	for _, name := range []string{"m.yaml", "b.yaml", "z.yaml", "c.yaml", "x.yaml", "d.yaml", "e.yaml", "f.yaml", "g.yaml"} {
		replace(t, filepath.Join(dir, name), manifest("k", name))
	}
	s := start(t, dir).complete()
	if e := s.Lookup(server("k")); filepath.Base(e.File) != "b.yaml" {
		t.Errorf("%s won, not the first by name", e.File)
	}
}

func TestOnePortTwice(t *testing.T) {
	r := start(t, newDir(t))
	r.write("a.yaml", manifest("a", "1", "ports: [{port: 8123}]"))
	r.write("b.yaml", manifest("b", "1", "ports: [{port: 8123}]"))
	r.notice(spec.ReasonPortConflict, "a.yaml", "8123")
	r.notice(spec.ReasonPortConflict, "b.yaml", "8123")
	r.write("b.yaml", manifest("b", "1", "ports: [{port: 8124}]"))
	r.until("no conflict", func(s *spec.Set) bool { return len(s.Notices) == 0 })
}

func TestSetsHoldsOneAndIsClosed(t *testing.T) {
	r := start(t, newDir(t))
	for _, arg := range []string{"1", "2", "3"} {
		r.write("a.yaml", manifest("a", arg))
	}
	r.arg("a", "3")
	r.stop()
	for range r.source.Sets() { // at most the one that was not taken
	}
}

func TestNewRefusesARelativeDirectory(t *testing.T) {
	if _, err := New(Options{Dir: "manifests"}); err == nil {
		t.Error("a relative directory was taken")
	}
}
