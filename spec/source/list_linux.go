package source

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// listing holds the buffer that directory entries are read into, so that a
// poll of an unchanged directory allocates next to nothing.
type listing struct {
	buf [64 << 10]byte
}

// each calls visit for every entry of a directory that want asks for, with
// what the entry leads to; link says that it is, or may be, a symbolic link.
// The name is valid during the call only.
//
// It reads getdents64(2) records itself: their names end in a NUL and can be
// handed to statx(2) (kernel 4.11) in place.
func (l *listing) each(dir string, want func(name []byte, dir bool) bool, visit func(name []byte, link bool, st stamp, err error)) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for {
		n, err := unix.ReadDirent(fd, l.buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n <= 0 {
			return nil
		}
		for rest := l.buf[:n]; len(rest) > 0; {
			var name []byte
			var kind byte
			name, kind, rest = nextDirent(rest)
			if len(name) == 0 || !want(name, kind == unix.DT_DIR) {
				continue
			}
			st, err := statAt(fd, name)
			visit(name, kind == unix.DT_LNK || kind == unix.DT_UNKNOWN, st, err)
		}
	}
}

// nextDirent takes one struct linux_dirent64 off the buffer: d_ino (8 bytes),
// d_off (8), d_reclen (2), d_type (1), d_name with its NUL and padding. A
// record that makes no sense ends the buffer.
func nextDirent(buf []byte) (name []byte, kind byte, rest []byte) {
	const head = 19
	if len(buf) < head {
		return nil, 0, nil
	}
	size := int(binary.NativeEndian.Uint16(buf[16:]))
	if size <= head || size > len(buf) {
		return nil, 0, nil
	}
	name, kind, rest = buf[head:size], buf[18], buf[size:]
	for i, c := range name {
		if c == 0 {
			return name[:i], kind, rest
		}
	}
	return nil, kind, rest
}

// statAt is statx(2) on a name that is followed by a NUL in memory.
func statAt(dir int, name []byte) (stamp, error) {
	var stx unix.Statx_t
	_, _, errno := unix.Syscall6(unix.SYS_STATX, uintptr(dir),
		uintptr(unsafe.Pointer(unsafe.SliceData(name))), 0,
		unix.STATX_BASIC_STATS, uintptr(unsafe.Pointer(&stx)), 0)
	if errno != 0 {
		return stamp{}, errno
	}
	return stamp{
		dev:   unix.Mkdev(stx.Dev_major, stx.Dev_minor),
		ino:   stx.Ino,
		size:  int64(stx.Size),
		mtime: stx.Mtime.Sec*1e9 + int64(stx.Mtime.Nsec),
		ctime: stx.Ctime.Sec*1e9 + int64(stx.Ctime.Nsec),
		mode:  fileMode(uint32(stx.Mode)),
		uid:   stx.Uid,
		gid:   stx.Gid,
	}, nil
}
