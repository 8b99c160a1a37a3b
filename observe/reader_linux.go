package observe

import (
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reader reads the files below /proc. It builds names and keeps contents in
// its own buffers and allocates nothing per process, which the wrappers of the
// os and unix packages do. One goroutine uses it.
type reader struct {
	proc int // the open /proc
	name []byte
	data []byte
	rows []sighting // what a part puts its results in
	// failed is why something could not be read that says nothing about the
	// process: there was no descriptor or no memory to be had. It stays until
	// failure has told it.
	failed unix.Errno
	// errno is that of the last open.
	errno unix.Errno
}

// failure tells, once, that what was read is not to be believed: what could not
// be opened for want of a descriptor would pass for gone.
func (r *reader) failure() error {
	errno := r.failed
	r.failed = 0
	if errno == 0 {
		return nil
	}
	return fmt.Errorf("cannot read the process table: %w", errno)
}

// note keeps an error that is the machine's, not the process's.
func (r *reader) note(errno unix.Errno) {
	switch errno {
	case unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ENOBUFS:
		r.failed = errno
	}
}

// Sizes of buffers. Environments are read whole, up to more than execve(2)
// takes (6 MiB, three quarters of the largest stack).
const (
	readerBuffer = 64 << 10
	readerMax    = 8 << 20
)

func newReader(proc int) *reader {
	return &reader{proc: proc, name: make([]byte, 0, 64), data: make([]byte, readerBuffer)}
}

// rowsFor gives room for n results.
func (r *reader) rowsFor(n int) []sighting {
	if cap(r.rows) < n {
		r.rows = make([]sighting, n)
	}
	return r.rows[:n]
}

// path gives PID/FILE with a NUL at its end, valid until the next call.
func (r *reader) path(pid int32, file string) *byte {
	r.name = strconv.AppendInt(r.name[:0], int64(pid), 10)
	if file != "" {
		r.name = append(r.name, '/')
		r.name = append(r.name, file...)
	}
	r.name = append(r.name, 0)
	return &r.name[0]
}

// read gives the content of one file of one process, valid until the next
// call. It blocks as long as the kernel does.
func (r *reader) read(pid int32, file string) ([]byte, unix.Errno) {
	fd, errno := r.open(pid, file)
	if errno != 0 {
		return nil, errno
	}
	defer unix.Close(fd)
	return r.readAll(fd)
}

func (r *reader) open(pid int32, file string) (int, unix.Errno) {
	for {
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(r.proc),
			uintptr(unsafe.Pointer(r.path(pid, file))), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
		if errno != unix.EINTR {
			r.errno = errno
			r.note(errno)
			return int(fd), errno
		}
	}
}

// readAll reads until the buffer is not filled: files of /proc give all that
// they have to one read that is large enough.
func (r *reader) readAll(fd int) ([]byte, unix.Errno) {
	filled := 0
	for {
		room := r.data[filled:]
		n, _, errno := unix.Syscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&room[0])), uintptr(len(room)))
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			r.note(errno)
			return nil, errno
		}
		filled += int(n)
		if filled < len(r.data) || len(r.data) >= readerMax {
			return r.data[:filled], 0
		}
		r.data = append(r.data, make([]byte, len(r.data))...)
	}
}

// inode gives the inode and the effective user of a process.
func (r *reader) inode(pid int32) (inode uint64, uid uint32, errno unix.Errno) {
	var st unix.Statx_t
	_, _, errno = unix.Syscall6(unix.SYS_STATX, uintptr(r.proc), uintptr(unsafe.Pointer(r.path(pid, ""))),
		0, unix.STATX_INO|unix.STATX_UID, uintptr(unsafe.Pointer(&st)), 0)
	return st.Ino, st.Uid, errno
}

// session gives session and group of any process, without reading it.
func session(pid int32) (sid, pgid int32) {
	s, _, errno := unix.RawSyscall(unix.SYS_GETSID, uintptr(pid), 0, 0)
	if errno != 0 {
		return 0, 0
	}
	g, _, errno := unix.RawSyscall(unix.SYS_GETPGID, uintptr(pid), 0, 0)
	if errno != 0 {
		return 0, 0
	}
	return int32(s), int32(g)
}

// entry is one process as the directory /proc lists it. The inode is the one
// that stat gives: the listing looks each name up (proc_fill_cache in the
// kernel).
type entry struct {
	inode uint64
	pid   int32
}

// list appends the processes that /proc lists to the given slice, in the order
// of the kernel, which is that of their pids.
func (r *reader) list(entries []entry) ([]entry, error) {
	if _, err := unix.Seek(r.proc, 0, unix.SEEK_SET); err != nil {
		return entries, err
	}
	for {
		n, err := unix.Getdents(r.proc, r.data)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return entries, err
		}
		entries = appendEntries(entries, r.data[:n])
	}
}

// appendEntries takes the processes out of a block of struct linux_dirent64
// (getdents64(2)): inode, offset, length of the record, type, name.
func appendEntries(entries []entry, block []byte) []entry {
	const (
		lengthAt = 16
		nameAt   = 19
	)
	for len(block) > nameAt {
		length := int(*(*uint16)(unsafe.Pointer(&block[lengthAt])))
		if length <= nameAt || length > len(block) {
			return entries
		}
		if pid, ok := parsePID(block[nameAt:length]); ok {
			entries = append(entries, entry{*(*uint64)(unsafe.Pointer(&block[0])), pid})
		}
		block = block[length:]
	}
	return entries
}

// parsePID takes a name that is a number and nothing else, up to its NUL.
func parsePID(name []byte) (int32, bool) {
	var n int64
	for i, c := range name {
		switch {
		case c == 0:
			return int32(n), i > 0 && n <= math.MaxInt32
		case c < '0' || c > '9' || i > 9:
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return 0, false
}
