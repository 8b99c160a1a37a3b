package source

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/proc-controller/proc-controller/spec"
)

// A manifest that is linked to from the directory is told of where it lies, what
// its paths mean is there, and it is judged like any other.
func TestLinkedManifests(t *testing.T) {
	dir, home := newDir(t), newDir(t)
	real := filepath.Join(home, "a.yaml")
	must(t, os.WriteFile(real, []byte(manifest("a", "1")+"  onControllerExit: Keep\n  envFrom: [{file: {path: vars.env}}]\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(home, "vars.env"), []byte("A=1\n"), 0o644))
	must(t, os.Symlink(real, filepath.Join(dir, "000.yaml")))
	r := start(t, dir, func(o *Options) { o.Places, o.NoneKept = map[string]string{"000.yaml": real}, true })
	e := r.arg("a", "1")
	if e.File != real || e.Dir != home || string(e.Files["vars.env"]) != "A=1\n" || len(e.Problems) > 0 {
		t.Errorf("entry %+v", e)
	}
	if e.Object.Spec.OnControllerExit != spec.ExitStop {
		t.Error("it is kept, although none is to be")
	}
	must(t, os.WriteFile(real, []byte("broken"), 0o644))
	r.until("a finding at the manifest's own place", func(s *spec.Set) bool {
		return len(s.Notices) > 0 && s.Notices[0].File == real
	})
	must(t, os.WriteFile(real, []byte(manifest("a", "2")), 0o644))
	r.arg("a", "2")
	must(t, os.Chmod(real, 0o666))
	r.notice(spec.ReasonUntrusted, "a.yaml", "chmod ")
}
