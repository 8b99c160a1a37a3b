//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nobody is a user without rights, for what root may do everywhere.
const nobody = 65534

// TestManifestDirectoryGoesBad takes the directory away from under a controller
// in each way. Nothing stops, it is told, and all is well when it is back.
func TestManifestDirectoryGoesBad(t *testing.T) {
	t.Parallel()
	aside := func(r *rig) { must(r.t, os.Rename(r.manifests, r.manifests+".aside")) }
	back := func(r *rig) {
		must(r.t, os.RemoveAll(r.manifests))
		must(r.t, os.Rename(r.manifests+".aside", r.manifests))
	}
	tests := []struct {
		name      string
		do, undo  func(*rig)
		want      string
		withdrawn bool // what runs may not be read from it either
	}{
		{"missing", aside, back, "manifest", false},
		{"a file", func(r *rig) { aside(r); must(r.t, os.WriteFile(r.manifests, nil, 0o644)) }, back, "director", false},
		{"a dangling symlink", func(r *rig) { aside(r); must(r.t, os.Symlink("/no/such/directory", r.manifests)) }, back, "manifest", false},
		{"a symlink loop", func(r *rig) { aside(r); must(r.t, os.Symlink(r.manifests, r.manifests)) }, back, "manifest", false},
		{"world-writable", func(r *rig) { must(r.t, os.Chmod(r.manifests, 0o777)) }, func(r *rig) { must(r.t, os.Chmod(r.manifests, 0o755)) }, "chmod", true},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			r, unharmed := bystander(t)
			tt.do(r)
			if tt.withdrawn {
				r.write("late.yaml", agent("late")) // wakes it, and is not believed
			}
			r.said(r.manifests, tt.want)
			unharmed()
			if tt.withdrawn {
				if _, err := r.get("agent/late"); err == nil {
					t.Error("a manifest in an untrusted directory is taken")
				}
			}
			tt.undo(r)
			r.write("next.yaml", agent("next"))
			r.running("agent/next")
			unharmed()
		})
	}
}

// A controller that is started on a directory that is missing waits for it.
func TestStartsOnAMissingDirectory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	must(t, os.Remove(r.manifests))
	r.launch()
	r.said(r.manifests)
	r.alive()
	r.mkdir(r.manifests, 0o755)
	r.write("a.yaml", agent("a"))
	r.running("agent/a")
}

// newRigAsNobody gives a rig whose controller runs without rights.
func newRigAsNobody(t *testing.T) *rig {
	t.Helper()
	return newRigAs(t, nobody)
}

// newRigAs gives a rig whose controller runs as a user and group of this number.
func newRigAs(t *testing.T, uid int) *rig {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to run the controller as another user")
	}
	r := newRig(t)
	r.user = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
	for _, dir := range []string{r.dir, r.manifests, filepath.Dir(r.socket)} {
		must(t, os.Chown(dir, uid, uid))
	}
	must(t, os.Chmod(r.dir, 0o755))
	return r
}

func TestUnreadableDirectoryAndFile(t *testing.T) {
	t.Parallel()
	r := newRigAsNobody(t)
	r.write("a.yaml", agent("a"))
	r.start()
	a := r.waitFor("agent/a")
	runsOn := func() { t.Helper(); throughout(t, time.Second, "a runs on", func() error { return stillRuns(a) }) }

	must(t, os.Chmod(filepath.Join(r.manifests, "a.yaml"), 0))
	r.saidInLog("a.yaml")
	runsOn()
	must(t, os.Chmod(filepath.Join(r.manifests, "a.yaml"), 0o644))

	must(t, os.Chmod(r.manifests, 0))
	r.saidInLog(r.manifests)
	runsOn()
	must(t, os.Chmod(r.manifests, 0o755))
	r.write("b.yaml", agent("b"))
	r.waitFor("agent/b")
	runsOn()
}

// waitFor waits for a process with the markers of the key, seen from outside:
// clients of another user are refused by the controller.
func (r *rig) waitFor(key string) (pid int) {
	r.t.Helper()
	_, name, _ := strings.Cut(key, "/")
	eventually(r.t, soon, key+" runs", func() error {
		r.alive()
		for _, p := range marked(r.owner) {
			if p.has("AGENT_NAME", name) {
				pid = p.pid
				return nil
			}
		}
		return os.ErrNotExist
	})
	return pid
}

// saidInLog waits until a line of the log names all words.
func (r *rig) saidInLog(words ...string) {
	r.t.Helper()
	eventually(r.t, soon, strings.Join(words, " and ")+" in the log", func() error {
		for line := range strings.Lines(r.proc.stderr.String()) {
			all := true
			for _, w := range words {
				all = all && strings.Contains(line, w)
			}
			if all {
				return nil
			}
		}
		return os.ErrNotExist
	})
}

// TestStateDirectory: the state is a hint. Without it everything works, and the
// user is told.
func TestStateDirectory(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a file system")
	}
	for _, tt := range []struct{ name, options string }{
		{"read-only", "ro,size=1m"},
		{"full", "size=4k"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.mkdir(r.state, 0o700)
			// The file system is seen by the controller alone, and ends with it.
			// The full one is filled to the last page.
			r.wrap = []string{
				"unshare", "--mount", "--propagation", "private", "sh", "-c",
				`mount -t tmpfs -o mode=700,` + tt.options + ` tmpfs "$1"; head -c 1000000 /dev/zero >"$1/filler" 2>/dev/null; shift; exec "$@"`,
				"sh", r.state,
			}
			r.write("a.yaml", agent("a"))
			r.start()
			a := r.running("agent/a")
			r.said(r.state)
			r.write("a.yaml", agent("a", "env: [{name: EDITED, value: again}]"))
			b := r.replaced("agent/a", a)
			r.alive()
			throughout(t, time.Second, "it runs on", func() error { return stillRuns(b.Status.PID) })
		})
	}
}

// The state directory may be deleted at any time.
func TestStateDirectoryDeleted(t *testing.T) {
	t.Parallel()
	r, unharmed := bystander(t)
	r.forget()
	r.write("a.yaml", agent("a"))
	a := r.running("agent/a")
	r.write("a.yaml", agent("a", "env: [{name: EDITED, value: again}]"))
	r.replaced("agent/a", a)
	unharmed()
}

// The API socket is made anew when a cleaner took it.
func TestSocketDeleted(t *testing.T) {
	t.Parallel()
	r, unharmed := bystander(t)
	must(t, os.Remove(r.socket))
	r.running("agent/bystander")
	unharmed()
}

// Without a controller the clients say so, in one line, and what to do.
func TestGetWithoutController(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.run("get")
	if res.code != 1 || strings.Count(res.stderr, "\n") != 1 || !strings.Contains(res.stderr, "run") {
		t.Errorf("exit code %d, stderr %q", res.code, res.stderr)
	}
	for _, args := range [][]string{{"get", "nosuchkind"}, {"get", "--no-such-flag"}, {"nosuchverb"}, {"run", "--scopes=sometimes"}, {"get", "-o", "xml"}} {
		if res := r.exec(args...); res.code != 2 || res.stderr == "" {
			t.Errorf("%q: exit code %d, want 2; stderr %q", args, res.code, res.stderr)
		}
	}
	if res := r.exec("version"); res.code != 0 || strings.TrimSpace(res.stdout) == "" {
		t.Errorf("version: exit code %d, stdout %q", res.code, res.stdout)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
