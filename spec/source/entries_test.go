//go:build linux || darwin || freebsd

package source

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

// What is no manifest in a manifest's place stops nothing: neither the objects
// of other files nor what the entry held before.
func TestOddEntries(t *testing.T) {
	for name, tc := range map[string]struct {
		make    func(t *testing.T, path string)
		reason  spec.Reason
		message string
	}{
		"FIFO":      {func(t *testing.T, p string) { must(t, unix.Mkfifo(p, 0o644)) }, spec.ReasonSkipped, "FIFO"},
		"directory": {func(t *testing.T, p string) { must(t, os.Mkdir(p, 0o755)) }, spec.ReasonSkipped, "directory"},
		"socket": {func(t *testing.T, p string) {
			t.Chdir(filepath.Dir(p)) // the path of a socket is short
			l, err := net.Listen("unix", filepath.Base(p))
			must(t, err)
			t.Cleanup(func() { l.Close() })
		}, spec.ReasonSkipped, "socket"},
		"link loop":     {func(t *testing.T, p string) { must(t, os.Symlink(filepath.Base(p), p)) }, spec.ReasonUnreadable, "too many levels"},
		"dangling link": {func(t *testing.T, p string) { must(t, os.Symlink("nowhere", p)) }, spec.ReasonUnreadable, "leads nowhere"},
		"link to a directory": {
			func(t *testing.T, p string) { must(t, os.Symlink(filepath.Dir(p), p)) },
			spec.ReasonSkipped, "directory",
		},
		"link to a device": {func(t *testing.T, p string) { must(t, os.Symlink("/dev/null", p)) }, spec.ReasonSkipped, "device"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			x := filepath.Join(dir, "x.yaml")
			replace(t, filepath.Join(dir, "a.yaml"), manifest("a", "1"))
			tc.make(t, x)
			r := start(t, dir)
			r.wants("a")
			r.notice(tc.reason, "x.yaml", tc.message)

			must(t, os.RemoveAll(x))
			r.write("x.yaml", manifest("x", "1"))
			r.wants("a", "x")
			must(t, os.Remove(x))
			tc.make(t, x)
			r.notice(tc.reason, "x.yaml", tc.message)
			s := r.wants("a", "x")
			if proven, _, _ := s.Absence(server("x"), time.Now().Add(time.Hour)); proven {
				t.Error("x is believed to be gone")
			}
			if len(s.Lookup(server("x")).Problems) == 0 {
				t.Error("x does not say what is wrong")
			}
		})
	}
}

// An odd entry that never was a manifest holds up no deletion.
func TestDirectoryEntryHoldsUpNothing(t *testing.T) {
	r := start(t, newDir(t))
	must(t, os.Mkdir(filepath.Join(r.dir, "archive.yaml"), 0o755))
	if s := r.notice(spec.ReasonSkipped, "archive.yaml", "directory"); len(s.Doubts) > 0 {
		t.Errorf("a doubt: %s", show(s))
	}
}

func TestSkippedEntries(t *testing.T) {
	dir := newDir(t)
	for _, name := range []string{
		"README.md", ".hidden.yaml", ".a.yaml.swp", "a.yaml~", "#a.yaml#", "a.yaml.orig", "a.yaml.bak", "A.YAML", "Makefile",
	} {
		replace(t, filepath.Join(dir, name), manifest("no", "1"))
	}
	must(t, os.MkdirAll(filepath.Join(dir, "npm"), 0o755))
	must(t, os.MkdirAll(filepath.Join(dir, ".git"), 0o755))
	must(t, os.MkdirAll(filepath.Join(dir, "schema"), 0o755))
	replace(t, filepath.Join(dir, "npm", "n.yaml"), manifest("no", "1"))
	s := start(t, dir).complete()
	if len(s.Entries) > 0 {
		t.Errorf("read: %s", show(s))
	}
	var told []string
	for _, n := range s.Notices {
		told = append(told, filepath.Base(n.File))
	}
	if got, want := fmt.Sprint(told), "[#a.yaml# A.YAML a.yaml.bak a.yaml.orig a.yaml~ npm]"; got != want {
		t.Errorf("told of %s, want %s", got, want)
	}
}

func TestSkippedEntriesAreBounded(t *testing.T) {
	dir := newDir(t)
	for i := range maxSkipped + 5 {
		must(t, os.Mkdir(filepath.Join(dir, fmt.Sprintf("d%02d", i)), 0o755))
	}
	s := start(t, dir).complete()
	if len(s.Notices) != maxSkipped+1 || s.Notices[maxSkipped].Message != "5 more entries are not read" {
		t.Errorf("notices: %s", show(s))
	}
}

// A file that is held open for writing is read when it is closed, and not
// before. What it is about to hold cannot be known: after a while it says so.
func TestFileHeldOpen(t *testing.T) {
	dir := newDir(t)
	replace(t, filepath.Join(dir, "a.yaml"), manifest("a", "1"))
	f, err := os.Create(filepath.Join(dir, "b.yaml"))
	must(t, err)
	defer f.Close()
	_, err = f.WriteString(manifest("b", "1")[:40])
	must(t, err)
	r := start(t, dir)
	s := r.complete()
	if s.Lookup(server("b")) != nil || len(s.Doubts) != 1 || s.Doubts[0].Reason != spec.ReasonBusyFile || !s.Doubts[0].All {
		t.Fatalf("while it is written: %s", show(s))
	}
	_, err = f.WriteString(manifest("b", "1")[40:])
	must(t, err)
	must(t, f.Close())
	if s := r.wants("a", "b"); len(s.Doubts)+len(s.Notices) > 0 {
		t.Errorf("left over: %s", show(s))
	}
}

// A known file that is being rewritten keeps its objects, and after showBusy
// it is told.
func TestKnownFileHeldOpen(t *testing.T) {
	r := start(t, newDir(t))
	r.write("a.yaml", manifest("a", "1"))
	r.arg("a", "1")
	f, err := os.OpenFile(filepath.Join(r.dir, "a.yaml"), os.O_WRONLY|os.O_TRUNC, 0)
	must(t, err)
	defer f.Close()
	s := r.notice(spec.ReasonBusyFile, "a.yaml", "still writes")
	if e := s.Lookup(server("a")); e.Gone() || e.Object.Spec.Command[1] != "1" {
		t.Errorf("not kept: %s", show(s))
	}
	_, err = f.WriteString(manifest("a", "2"))
	must(t, err)
	must(t, f.Close())
	r.arg("a", "2")
	r.until("no doubt", func(s *spec.Set) bool { return len(s.Doubts)+len(s.Notices) == 0 })
}

func TestRested(t *testing.T) {
	now := time.Unix(1000, 0)
	changed := func(ago time.Duration) stamp { return stamp{ino: 1, ctime: now.Add(-ago).UnixNano()} }
	for _, tc := range []struct {
		name     string
		st       stamp
		seen     rest
		heldOpen bool
		want     bool
	}{
		{"old", changed(3 * time.Second), rest{}, false, true},
		{"new", changed(time.Second), rest{}, false, false},
		{"new, seen before", changed(time.Second), rest{changed(time.Second), now.Add(-restSeen)}, false, true},
		{"new, seen otherwise", changed(time.Second), rest{changed(2 * time.Second), now.Add(-time.Minute)}, false, false},
		{"clock behind, seen before", changed(-time.Hour), rest{changed(-time.Hour), now.Add(-restSeen)}, false, true},
		{"clock behind", changed(-time.Hour), rest{}, false, false},
		{"held open, old", changed(31 * time.Second), rest{}, true, true},
		{"held open, not so old", changed(20 * time.Second), rest{}, true, false},
		{"held open, seen for long", changed(-time.Hour), rest{changed(-time.Hour), now.Add(-restHeldOpen)}, true, true},
	} {
		if got := rested(tc.st, tc.seen, tc.heldOpen, now); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
	for _, tc := range []struct {
		ago   time.Duration
		whole bool
		want  bool
	}{
		{time.Millisecond, false, true},
		{time.Second, false, false},
		{time.Second, true, true},
		{3 * time.Second, true, false},
	} {
		st := stamp{ino: 1, mtime: now.Add(-tc.ago).UnixNano(), ctime: now.Add(-tc.ago).UnixNano()}
		if !tc.whole {
			st.mtime -= 7
		}
		if got := racy(st, now); got != tc.want {
			t.Errorf("racy %+v: %v", tc, got)
		}
	}
	var delays []time.Duration
	for d := nextRetry(0); ; d = nextRetry(d) {
		delays = append(delays, d)
		if d == retryMost {
			break
		}
	}
	if got := fmt.Sprint(delays); got != "[5ms 10ms 20ms 40ms 80ms 160ms 320ms 640ms 1s]" {
		t.Errorf("delays %v", got)
	}
}

func TestEnvFiles(t *testing.T) {
	r := start(t, newDir(t))
	env := filepath.Join(filepath.Dir(r.dir), "a.env")
	r.write("a.yaml", manifest("a", "1", "envFrom: [{file: {path: ../a.env}}, {file: {path: ~/none.env, optional: true}}]",
		"env: [{name: T, valueFrom: {file: {path: "+env+".token}}}]"))
	r.write("b.yaml", manifest("b", "1"))
	s := r.until("the missing files told", func(s *spec.Set) bool {
		e := s.Lookup(server("a"))
		return e != nil && len(e.Problems) == 2
	})
	e := s.Lookup(server("a"))
	if e.Object != nil || e.Problems[0].Reason != spec.ReasonEnvFileMissing || len(s.Doubts) > 0 {
		t.Errorf("without its files: %s", show(s))
	}
	replace(t, env, "A=1\n")
	replace(t, env+".token", "secret")
	first := r.arg("a", "1")
	if string(first.Files["../a.env"]) != "A=1\n" || string(first.Files[env+".token"]) != "secret" || len(first.Files) != 2 {
		t.Errorf("files %q", first.Files)
	}
	b := r.last.Lookup(server("b"))
	replace(t, env, "A=2\n")
	s = r.until("another hash", func(s *spec.Set) bool { return s.Lookup(server("a")).Hash != first.Hash })
	if s.Lookup(server("b")) != b {
		t.Error("b was evaluated anew")
	}
	second := s.Lookup(server("a"))
	replace(t, filepath.Join(filepath.Dir(r.dir), "none.env"), "N=1\n")
	s = r.until("the optional file", func(s *spec.Set) bool { return s.Lookup(server("a")).Hash != second.Hash })
	third := s.Lookup(server("a"))
	must(t, os.Remove(env))
	s = r.until("a problem", func(s *spec.Set) bool { return len(s.Lookup(server("a")).Problems) > 0 })
	if e := s.Lookup(server("a")); e.Hash != third.Hash || e.Object != third.Object || e.Gone() {
		t.Errorf("not kept: %s", show(s))
	}
	must(t, os.WriteFile(env, make([]byte, maxEnvFile+1), 0o644))
	r.until("too large", func(s *spec.Set) bool {
		e := s.Lookup(server("a"))
		return len(e.Problems) == 1 && e.Problems[0].Message == "../a.env has more than 1 MiB"
	})
	must(t, os.Remove(env))
	must(t, unix.Mkfifo(env, 0o600))
	r.until("a FIFO", func(s *spec.Set) bool {
		e := s.Lookup(server("a"))
		return len(e.Problems) == 1 && e.Problems[0].Message == "cannot read ../a.env: not a regular file"
	})
}

func TestListing(t *testing.T) {
	l := new(listing)
	dir := newDir(t)
	want := map[string]bool{}
	for i := range 300 {
		name := fmt.Sprintf("%d%0*d.yaml", i, i%180, 0)
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
		want[name] = true
	}
	must(t, l.each(dir, func([]byte, bool) bool { return true }, func(name []byte, _ bool, st stamp, err error) {
		if n := string(name); n != "." && n != ".." {
			if !want[n] {
				t.Errorf("%q is not there, or twice", n)
			}
			delete(want, n)
			got, lerr := lstat(filepath.Join(dir, n))
			if err != nil || lerr != nil || got != st {
				t.Errorf("%s: %+v, lstat says %+v (%v, %v)", n, st, got, err, lerr)
			}
		}
	}))
	if len(want) > 0 {
		t.Errorf("%d were not listed", len(want))
	}
}
