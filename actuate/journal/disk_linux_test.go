package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func makeFIFO(t *testing.T, path string) {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

func needRoot(t *testing.T, why string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: " + why)
	}
}

// smallDisk is a file system of 64 KiB for the time of a test.
func smallDisk(t *testing.T) string {
	t.Helper()
	needRoot(t, "mounts a small file system")
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=700"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("cannot unmount: %v", err)
		}
	})
	return dir
}

func TestFullDiskRecovers(t *testing.T) {
	dir := smallDisk(t)
	path := filepath.Join(dir, "ledger.jsonl")
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 48<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	var log logged
	j := Open(path, Options{Log: log.logger(), retry: time.Millisecond})
	for n := range 400 { // 32 KiB, of which half fits: the write is cut short
		j.Append(record{N: n, Pad: strings.Repeat("x", 60)})
	}
	eventually(t, "the failure is logged", func() bool { return log.count("cannot write records") == 1 })
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all records are there", func() bool {
		seen := map[int]bool{}
		got, _ := load(t, path)
		for _, r := range got {
			seen[r.N] = true
		}
		return len(seen) == 400
	})
	closeNow(t, j)
	if n := log.count("cannot write records"); n != 1 {
		t.Errorf("the failure was logged %d times", n)
	}
}

func TestStateDir(t *testing.T) {
	me := os.Getuid()
	t.Run("is made private", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "a", "b")
		if err := PrepareStateDir(dir, me); err != nil {
			t.Fatal(err)
		}
		if st, _ := os.Stat(dir); st.Mode().Perm() != 0o700 {
			t.Errorf("mode %v", st.Mode())
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 0 {
			t.Errorf("left behind: %v", entries)
		}
	})
	t.Run("an empty one becomes private", func(t *testing.T) {
		dir := mkdir(t, 0o755)
		if err := PrepareStateDir(dir, me); err != nil {
			t.Fatal(err)
		}
		if st, _ := os.Stat(dir); st.Mode().Perm() != 0o700 {
			t.Errorf("mode %v", st.Mode())
		}
	})
	t.Run("a used one stays as it is", func(t *testing.T) {
		dir := mkdir(t, 0o755)
		if err := os.WriteFile(filepath.Join(dir, "other"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := PrepareStateDir(dir, me); err != nil {
			t.Fatal(err)
		}
		if st, _ := os.Stat(dir); st.Mode().Perm() != 0o755 {
			t.Errorf("mode %v", st.Mode())
		}
	})
	t.Run("not one that others write to", func(t *testing.T) {
		refuses(t, mkdir(t, 0o777), me, "chmod 700")
	})
	t.Run("not a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		refuses(t, file, me, "--state-dir")
	})
	t.Run("not another user's", func(t *testing.T) {
		needRoot(t, "gives a directory away")
		dir := mkdir(t, 0o700)
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		refuses(t, dir, me, "chown")
	})
	t.Run("not through another user's link", func(t *testing.T) {
		needRoot(t, "gives a link away")
		link := filepath.Join(t.TempDir(), "link")
		if err := errors.Join(os.Symlink(mkdir(t, 0o700), link), os.Lchown(link, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		refuses(t, link, me, "chown")
	})
	t.Run("a read-only one can still be read", func(t *testing.T) {
		dir := smallDisk(t)
		if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "size=64k"); err != nil {
			t.Fatal(err)
		}
		if err := PrepareStateDir(dir, me); !errors.Is(err, ErrNotWritable) {
			t.Errorf("gives %v, want ErrNotWritable", err)
		}
	})
}

func mkdir(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, mode)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func refuses(t *testing.T, dir string, uid int, todo string) {
	t.Helper()
	err := PrepareStateDir(dir, uid)
	if err == nil || errors.Is(err, ErrNotWritable) || !strings.Contains(err.Error(), todo) || strings.Contains(err.Error(), "\n") {
		t.Errorf("gives %v, want one line that says %q", err, todo)
	}
}
