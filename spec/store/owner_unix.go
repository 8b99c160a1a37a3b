//go:build unix

package store

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// resemble gives a file mode, owner and group of another. Only root can give a
// file away; a group that cannot be given has its rights taken.
func resemble(w *os.File, former fs.FileInfo) error {
	mode := former.Mode().Perm()
	was, ok := former.Sys().(*syscall.Stat_t)
	if !ok {
		return w.Chmod(mode)
	}
	fi, err := w.Stat()
	if err != nil {
		return err
	}
	is, ok := fi.Sys().(*syscall.Stat_t)
	if ok && is.Uid != was.Uid {
		if err := w.Chown(int(was.Uid), -1); err != nil {
			return fmt.Errorf("it belongs to uid %d, and would be yours: change it as that user", was.Uid)
		}
	}
	if ok && is.Gid != was.Gid && w.Chown(-1, int(was.Gid)) != nil {
		mode &^= 0o070
	}
	return w.Chmod(mode)
}

// Writable fails where nothing can be written into a directory.
func Writable(dir string) error {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
}

// ownerOf names who a directory belongs to, and its mode.
func ownerOf(fi fs.FileInfo) string {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("uid %d with mode %04o", st.Uid, fi.Mode().Perm())
	}
	return fi.Mode().String()
}
