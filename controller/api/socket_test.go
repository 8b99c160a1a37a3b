package api

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSocketIsClosedToOthers(t *testing.T) {
	path := socketPath(t)
	s, err := Listen(Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for p, want := range map[string]os.FileMode{filepath.Dir(path): 0o700, path: 0o600} {
		fi, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if fi.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", p, fi.Mode().Perm(), want)
		}
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	path := socketPath(t)
	old, err := Listen(Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	old.sock.Listener.Close() // as after a crash
	s, err := Listen(Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	s.close()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket's file is still there: %v", err)
	}
}

func TestListenRefuses(t *testing.T) {
	busy := socketPath(t)
	serve(t, Options{Path: busy, Services: Services{Viewer: &fixedView{}}})

	file := socketPath(t)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	open := socketPath(t)
	if err := os.MkdirAll(filepath.Dir(open), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(open), 0o777); err != nil { // past the umask
		t.Fatal(err)
	}

	for name, tt := range map[string]struct{ path, want string }{
		"in use":      {busy, ErrInUse.Error()},
		"a file":      {file, "is no socket"},
		"open to all": {open, "others may write to it"},
		"too long":    {"/tmp/" + strings.Repeat("x", maxPath), "use a shorter --socket"},
	} {
		s, err := Listen(Options{Path: tt.path})
		if err == nil {
			s.close()
			t.Errorf("%s: no error", name)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", name, err, tt.want)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("a file that is no socket was touched: %v", err)
	}
}

// TestSocketTakenByCleaner removes the file, and the whole directory, under a
// running server.
func TestSocketTakenByCleaner(t *testing.T) {
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}}, CheckEvery: 5 * time.Millisecond})
	for _, victim := range []string{path, filepath.Dir(path)} {
		if err := os.RemoveAll(victim); err != nil {
			t.Fatal(err)
		}
		if !comesBack(t, path) {
			t.Fatalf("the socket did not come back after %s was removed", victim)
		}
	}
}

// comesBack waits until a controller answers on path, at most ten seconds.
func comesBack(t *testing.T, path string) bool {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := NewClient(path).Controller(ctx); err == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// TestCloseLeavesAnothersSocket: what took our place on the path is not ours to
// remove.
func TestCloseLeavesAnothersSocket(t *testing.T) {
	path := socketPath(t)
	s, err := Listen(Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	s.close()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("another's socket was removed: %v", err)
	}
}
