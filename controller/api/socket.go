package api

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// maxPath is how long a socket's path may be: sun_path of unix(7) has 108 bytes
// with the final zero on Linux, 104 on the BSDs and macOS.
const maxPath = 107

// CheckPath says whether a socket can have this path.
func CheckPath(path string) error {
	if len(path) > maxPath {
		return fmt.Errorf("cannot use the socket path %s: it has %d bytes and a socket's path may have %d; use a shorter --socket",
			path, len(path), maxPath)
	}
	return nil
}

// socket is a listening unix socket that knows its own file.
type socket struct {
	net.Listener
	path string
	file fs.FileInfo
}

// listenUnix makes the directory where it is missing, clears away what a
// controller that is gone left, and listens. It fails with ErrInUse where
// somebody answers on the path.
func listenUnix(path string) (*socket, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	if err := prepareDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := clearStale(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", path, errors.Unwrap(err))
	}
	// The file is removed by us, and only while it is still ours.
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("cannot close %s to others: %w", path, err)
	}
	fi, err := os.Lstat(path)
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("cannot listen on %s: %w", path, err)
	}
	return &socket{Listener: l, path: path, file: fi}, nil
}

// intact says whether the path still leads to this socket.
func (s *socket) intact() bool {
	fi, err := os.Lstat(s.path)
	return err == nil && os.SameFile(fi, s.file)
}

// Close stops listening and takes the file away, if it is still this socket's.
func (s *socket) Close() error {
	if s.intact() {
		_ = os.Remove(s.path) // a stale file is cleared by the next start
	}
	return s.Listener.Close()
}

// prepareDir makes a directory for the socket, closed to others. One that is
// there may be readable (both ends check the peer's uid), but only its owner
// and root may put a file into it.
func prepareDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the socket's directory: %w; use another --socket", err)
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("cannot use the socket's directory: %w", err)
	}
	if uid, ok := fileUID(fi); ok && uid != os.Getuid() && uid != 0 {
		return fmt.Errorf("cannot use the socket's directory %s: it belongs to uid %d; use another --socket", dir, uid)
	}
	if open := fi.Mode().Perm()&0o022 != 0 && fi.Mode()&fs.ModeSticky == 0; open && dirModesCount {
		return fmt.Errorf("cannot use the socket's directory %s: others may write to it; run chmod go-w on it or use another --socket", dir)
	}
	return nil
}

// clearStale removes a socket file on which nobody listens any more.
func clearStale(path string) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot look at the socket: %w", err)
	}
	if fi.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("cannot listen on %s: it is there and is no socket; remove it or use another --socket", path)
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		c.Close()
		return fmt.Errorf("cannot listen on %s: %w; stop it or use another --socket", path, ErrInUse)
	}
	// Only this one says that nobody listens: a full queue, say, does not.
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("cannot tell whether %s is in use: %w", path, errors.Unwrap(err))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove the stale socket: %w", err)
	}
	return nil
}
