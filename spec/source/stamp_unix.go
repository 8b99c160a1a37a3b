//go:build linux || darwin || freebsd

package source

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// lstat looks at a path without following it.
func lstat(path string) (stamp, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return stamp{}, err
	}
	return stampOf(&st), nil
}

// stat looks at what a path leads to.
func stat(path string) (stamp, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return stamp{}, err
	}
	return stampOf(&st), nil
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{
		dev:   uint64(st.Dev),
		ino:   uint64(st.Ino),
		size:  st.Size,
		mtime: st.Mtim.Nano(),
		ctime: st.Ctim.Nano(),
		mode:  fileMode(uint32(st.Mode)),
		uid:   st.Uid,
		gid:   st.Gid,
	}
}

// fileMode turns st_mode (inode(7)) into Go's form, as far as it is used here.
func fileMode(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	default:
		mode |= fs.ModeDevice
	}
	if m&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}
