//go:build linux || darwin || freebsd

package source

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

func TestTrust(t *testing.T) {
	tr := newTrust(54321, []int{54322})
	tr.groups.known = map[[2]uint32]bool{{54321, 54321}: true, {0, 0}: false}
	const dir = fs.ModeDir
	for _, tc := range []struct {
		name   string
		st     stamp
		parent bool
		mend   string // "" trusted
	}{
		{"own", stamp{mode: 0o644, uid: 54321}, false, ""},
		{"root's", stamp{mode: 0o644}, false, ""},
		{"of a trusted user", stamp{mode: 0o644, uid: 54322}, false, ""},
		{"another's", stamp{mode: 0o644, uid: 54323}, false, "--trust-uid 54323"},
		{"writable by others", stamp{mode: 0o646, uid: 54321}, false, "chmod o-w /none/x"},
		{"writable by a group", stamp{mode: 0o664, uid: 54321, gid: 54399}, false, "chmod g-w /none/x"},
		{"writable by the private group", stamp{mode: 0o664, uid: 54321, gid: 54321}, false, ""},
		{"writable by another's private group", stamp{mode: 0o664, uid: 0, gid: 54321}, false, "chmod g-w /none/x"},
		{"writable by all", stamp{mode: 0o666, uid: 54321, gid: 54399}, false, "chmod go-w /none/x"},
		{"sticky directory", stamp{mode: dir | fs.ModeSticky | 0o777, uid: 0}, false, "chmod go-w /none/x"},
		{"sticky parent", stamp{mode: dir | fs.ModeSticky | 0o777, uid: 0}, true, ""},
		{"another's sticky parent", stamp{mode: dir | fs.ModeSticky | 0o777, uid: 54323}, true, "--trust-uid 54323"},
		{"parent writable by others", stamp{mode: dir | 0o757, uid: 0}, true, "chmod o-w /none/x"},
	} {
		judge := tr.place
		if tc.parent {
			judge = tr.parent
		}
		r := judge("/none/x", tc.st)
		switch {
		case tc.mend == "" && r != nil:
			t.Errorf("%s: %v", tc.name, r)
		case tc.mend != "" && (r == nil || r.reason != spec.ReasonUntrusted || !strings.Contains(r.message, tc.mend)):
			t.Errorf("%s: %v, want a refusal with %q", tc.name, r, tc.mend)
		}
	}
}

func TestPrivateGroup(t *testing.T) {
	passwd := []byte("root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\nbob:x:1001:1001::/:/bin/sh\n" +
		"eve:x:1002:1001::/:/bin/sh\nfred:x:1003:50::/:/bin/sh\n#c\nshort:x\n")
	group := []byte("root:x:0:\nada:x:1000:\nbob:x:1001:\nstaff:x:50:\nown:x:1004:\nself:x:60:ada\nada:x:61:ada\nada:x:62:bob\n::\n")
	for _, tc := range []struct {
		uid, gid uint32
		want     bool
	}{
		{0, 0, true},
		{1000, 1000, true},
		{1001, 1001, false}, // eve's primary group too
		{1003, 50, false},   // another name
		{1000, 1001, false}, // another's
		{1000, 61, true},    // lists its user alone
		{1000, 62, false},   // lists another
		{1000, 60, false},   // another name
		{1000, 99, false},   // unknown group
		{99, 1000, false},   // unknown user
	} {
		if got := privateGroup(passwd, group, tc.uid, tc.gid); got != tc.want {
			t.Errorf("uid %d, gid %d: %v, want %v", tc.uid, tc.gid, got, tc.want)
		}
	}
}

// What is not trusted is not read and stops nothing; mended, it is read.
func TestUntrusted(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		r := start(t, newDir(t), holding(time.Millisecond))
		r.write("a.yaml", manifest("a", "1"))
		r.write("b.yaml", manifest("b", "1"))
		r.wants("a", "b")
		path := filepath.Join(r.dir, "a.yaml")
		must(t, os.WriteFile(path, []byte(manifest("a", "2")), 0o644))
		must(t, os.Chmod(path, 0o646))
		s := r.notice(spec.ReasonUntrusted, "a.yaml", "chmod o-w "+path)
		if e := s.Lookup(server("a")); e.Gone() || len(e.Problems) == 0 {
			t.Errorf("not kept: %s", show(s))
		}
		r.remove("b.yaml")
		s = r.wants("a")
		if proven, _, _ := s.Absence(server("b"), time.Now().Add(time.Hour)); proven {
			t.Error("an untrusted file does not protect all")
		}
		must(t, os.Chmod(path, 0o644))
		r.until("no doubt", func(s *spec.Set) bool { return len(s.Doubts) == 0 })
		r.arg("a", "2")
	})
	for name, untrusted := range map[string]func(dir string) string{
		"directory": func(dir string) string { return dir },
		"parent":    filepath.Dir,
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, newDir(t), polling(20*time.Millisecond))
			r.write("a.yaml", manifest("a", "1"))
			r.wants("a")
			path := untrusted(r.dir)
			must(t, os.Chmod(path, 0o757))
			r.directory(spec.ReasonUntrusted)
			r.write("a.yaml", manifest("a", "2"))
			r.write("b.yaml", manifest("b", "2"))
			s := r.notice(spec.ReasonUntrusted, filepath.Base(r.dir), "chmod o-w "+path)
			if e := s.Lookup(server("a")); len(wanted(s)) != 1 || e.Object.Spec.Command[1] != "1" {
				t.Errorf("read: %s", show(s))
			}
			must(t, os.Chmod(path, 0o755))
			r.directory("")
			r.wants("a", "b")
		})
	}
}

// A link leads over its own chain of directories, each of which counts.
func TestLinkOverAnUntrustedDirectory(t *testing.T) {
	r := start(t, newDir(t), polling(20*time.Millisecond))
	elsewhere := newDir(t)
	replace(t, filepath.Join(elsewhere, "a.yaml"), manifest("a", "1"))
	must(t, os.Symlink(filepath.Join(elsewhere, "a.yaml"), filepath.Join(r.dir, "a.yaml")))
	r.arg("a", "1")
	must(t, os.Chmod(elsewhere, 0o757))
	s := r.notice(spec.ReasonUntrusted, "a.yaml", "chmod o-w "+elsewhere)
	if len(wanted(s)) != 1 || !s.Doubts[0].All {
		t.Errorf("after the chmod: %s", show(s))
	}
}

// The target of a link may stay the same while the way to it becomes unsafe.
func TestStrayed(t *testing.T) {
	dir, elsewhere := newDir(t), newDir(t)
	replace(t, filepath.Join(elsewhere, "a.yaml"), manifest("a", "1"))
	must(t, os.Symlink(filepath.Join(elsewhere, "a.yaml"), filepath.Join(dir, "a.yaml")))
	s, err := New(Options{Dir: dir, UID: os.Getuid()})
	must(t, err)
	s.pass(time.Now())
	defer s.watch.close()
	f := s.cat.files["a.yaml"]
	if s.strayed(f) {
		t.Error("strayed, though nothing has changed")
	}
	must(t, os.Chmod(elsewhere, 0o757))
	if !s.strayed(f) {
		t.Error("the link leads over an untrusted directory, and that is not seen")
	}
}

// Only root can give a file away.
func TestForeignOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to own files by two users")
	}
	dir := newDir(t)
	path := filepath.Join(dir, "a.yaml")
	replace(t, path, manifest("a", "1"))
	must(t, os.Chown(path, 54321, 0))
	r := start(t, dir)
	r.notice(spec.ReasonUntrusted, "a.yaml", "belongs to uid 54321")
	r.stop()
	r = start(t, dir, func(o *Options) { o.TrustUIDs = []int{54321} })
	r.arg("a", "1")
}
