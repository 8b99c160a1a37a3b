package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

// Where the kernel gives no inotify instance, the poll alone finds every
// change, and events are had again once it does.
func TestPollingFallback(t *testing.T) {
	if !inUserNamespace(t, 0) {
		return
	}
	limit := func(n int) {
		must(t, os.WriteFile("/proc/sys/user/max_inotify_instances", []byte(strconv.Itoa(n)), 0))
	}
	limit(0)
	dir := newDir(t)
	env := filepath.Join(filepath.Dir(dir), "b.env")
	replace(t, filepath.Join(dir, "a.yaml"), manifest("a", "1"))
	replace(t, filepath.Join(dir, "b.yaml"), manifest("b", "1", "envFrom: [{file: {path: ../b.env}}]"))
	replace(t, env, "X=1\n")
	r := start(t, dir, polling(10*time.Millisecond))
	before := r.wants("a", "b").Lookup(server("b"))
	isPolling := func(s *spec.Set) bool {
		return slices.ContainsFunc(s.Notices, func(f spec.Finding) bool { return f.Reason == spec.ReasonPolling })
	}
	r.until("a notice", isPolling)
	r.write("a.yaml", manifest("a", "2"))
	r.write("c.yaml", manifest("c", "1"))
	r.arg("a", "2")
	r.wants("a", "b", "c")
	replace(t, env, "X=2\n")
	r.until("the new env file", func(s *spec.Set) bool { return s.Lookup(server("b")).Hash != before.Hash })
	must(t, os.Rename(dir, dir+".old"))
	r.directory(spec.ReasonDirMissing)
	r.wants("a", "b", "c")
	must(t, os.Rename(dir+".old", dir))
	r.directory("")
	r.remove("c.yaml")
	r.wants("a", "b")
	limit(100)
	r.until("no notice", func(s *spec.Set) bool { return !isPolling(s) })
}

// Another file system over the directory hides the manifests: nothing is
// deleted while it is there, however long, unless it holds all of them.
func TestAnotherFileSystem(t *testing.T) {
	if !inUserNamespace(t, unix.CLONE_NEWNS) {
		return
	}
	must(t, unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	r := start(t, newDir(t), holding(time.Millisecond), polling(5*time.Millisecond))
	r.write("a.yaml", manifest("a", "1"))
	r.write("b.yaml", manifest("b", "1"))
	r.wants("a", "b")

	must(t, unix.Mount("none", r.dir, "tmpfs", 0, "mode=755"))
	r.directory(spec.ReasonDirReplaced)
	s := r.wants("a", "b")
	if proven, _, _ := s.Absence(server("a"), time.Now().Add(time.Hour)); proven {
		t.Error("a is believed to be gone")
	}
	r.write("a.yaml", manifest("a", "2"))
	r.arg("a", "2") // what is there counts
	must(t, unix.Unmount(r.dir, unix.MNT_DETACH))
	r.directory("")
	r.arg("a", "1")
	r.wants("a", "b")

	must(t, unix.Mount("none", r.dir, "tmpfs", 0, "mode=755"))
	t.Cleanup(func() { must(t, unix.Unmount(r.dir, unix.MNT_DETACH)) })
	r.directory(spec.ReasonDirReplaced)
	r.write("one.yaml", manifest("a", "3")+"---\n"+manifest("b", "3"))
	r.directory("") // all are there again: the new home
	r.arg("b", "3")
	r.write("one.yaml", manifest("a", "3"))
	r.wants("a")
}

// Nobody can write through a read-only mount, whatever the modes in it say.
func TestReadOnlyMount(t *testing.T) {
	if !inUserNamespace(t, unix.CLONE_NEWNS) {
		return
	}
	must(t, unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	base := newDir(t)
	must(t, unix.Mount("none", base, "tmpfs", 0, "mode=777"))
	t.Cleanup(func() { must(t, unix.Unmount(base, unix.MNT_DETACH)) })
	dir := filepath.Join(base, "manifests")
	must(t, os.Mkdir(dir, 0o777))
	must(t, os.Chmod(dir, 0o777))
	replace(t, filepath.Join(dir, "a.yaml"), manifest("a", "1"))
	must(t, os.Chmod(filepath.Join(dir, "a.yaml"), 0o666))
	r := start(t, dir, polling(5*time.Millisecond))
	r.directory(spec.ReasonUntrusted)
	must(t, unix.Mount("none", base, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	r.directory("")
	r.arg("a", "1")
}

// With an access control list the group bits are a mask: whom it lets in they
// do not say.
func TestACLIsNoPrivateGroup(t *testing.T) {
	path := filepath.Join(newDir(t), "a.yaml")
	must(t, os.WriteFile(path, nil, 0o664))
	must(t, os.Chmod(path, 0o664))
	st, err := lstat(path)
	must(t, err)
	tr := newTrust(os.Getuid(), nil)
	tr.groups.known = map[[2]uint32]bool{{st.uid, st.gid}: true}
	if r := tr.place(path, st); r != nil {
		t.Fatalf("without a list: %v", r)
	}
	// user::rw-, user:54321:rw-, group::r--, mask::rw-, other::r-- (acl(5))
	acl := []byte{2, 0, 0, 0}
	for _, e := range [][3]uint32{{1, 6, 1<<32 - 1}, {2, 6, 54321}, {4, 4, 1<<32 - 1}, {16, 6, 1<<32 - 1}, {32, 4, 1<<32 - 1}} {
		acl = binary.LittleEndian.AppendUint16(acl, uint16(e[0]))
		acl = binary.LittleEndian.AppendUint16(acl, uint16(e[1]))
		acl = binary.LittleEndian.AppendUint32(acl, e[2])
	}
	if err := unix.Setxattr(path, "system.posix_acl_access", acl, 0); err == unix.ENOTSUP {
		t.Skip("no access control lists on the file system of the temporary directory")
	} else if err != nil {
		t.Fatal(err)
	}
	if r := tr.place(path, st); r == nil {
		t.Error("a file that another user is let write is trusted")
	}
}

// A lease is refused for another user's file: it is read when it has come to
// rest.
func TestAnothersFileIsReadAtRest(t *testing.T) {
	if !asUser(t) {
		return
	}
	h, err := open("/etc/passwd")
	must(t, err)
	defer h.close()
	if _, err := h.quiet(); !errors.Is(err, errNoLease) {
		t.Fatalf("quiet on root's file: %v, want errNoLease", err)
	}
	now := time.Now()
	st, err := h.stamp()
	must(t, err)
	if !settled(h, st, rest{}, now) {
		t.Error("an old file of another user is not read at once")
	}
	just := st.lastChange().Add(time.Millisecond)
	if settled(h, st, rest{}, just) {
		t.Error("a fresh file of another user is read at once")
	}
	if !settled(h, st, rest{st, just}, just.Add(restSeen)) {
		t.Error("a file at rest is not read")
	}
}

// Whatever a writer does meanwhile, what is read was there as a whole.
func TestReadingIsNeverTorn(t *testing.T) {
	path := filepath.Join(newDir(t), "a.yaml")
	const size = 8 << 10
	must(t, os.WriteFile(path, bytes.Repeat([]byte("a"), size), 0o644))
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for fill := byte('a'); ; fill ^= 3 { // a, b, a, …
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
			if err != nil {
				stopped <- err
				return
			}
			for range 4 {
				_, err = f.Write(bytes.Repeat([]byte{fill}, size/4))
			}
			if err := errors.Join(err, f.Close()); err != nil {
				stopped <- err
				return
			}
		}
	}()
	whole := 0
	for range 5000 {
		c, err := readSettled(path, size, rest{}, time.Now(), nil)
		switch {
		case errors.Is(err, errBusy):
		case err != nil:
			t.Fatal(err)
		case len(c.data) != size || bytes.Count(c.data, c.data[:1]) != size:
			t.Fatalf("%d bytes, %d of them %q", len(c.data), bytes.Count(c.data, c.data[:1]), c.data[:1])
		default:
			whole++
		}
	}
	close(stop)
	must(t, <-stopped)
	t.Logf("%d whole readings", whole)
}

// Root is let in everywhere, so this is another user's view.
func TestUnreadable(t *testing.T) {
	if !asUser(t) {
		return
	}
	r := start(t, newDir(t), polling(10*time.Millisecond))
	r.write("a.yaml", manifest("a", "1"))
	r.write("b.yaml", manifest("b", "1"))
	r.wants("a", "b")
	mend := func(path string, mode os.FileMode) func() {
		must(t, os.Chmod(path, 0))
		return func() { must(t, os.Chmod(path, mode)) }
	}
	back := mend(filepath.Join(r.dir, "a.yaml"), 0o644)
	s := r.notice(spec.ReasonUnreadable, "a.yaml", "permission denied")
	if len(s.Doubts) != 1 || !s.Doubts[0].All || len(wanted(s)) != 2 {
		t.Errorf("unreadable file: %s", show(s))
	}
	back()
	r.until("no doubt", func(s *spec.Set) bool { return len(s.Doubts) == 0 })
	back = mend(r.dir, 0o755)
	r.directory(spec.ReasonUnreadable)
	r.wants("a", "b")
	back()
	r.directory("")
	r.wants("a", "b")
}
