//go:build linux || darwin || freebsd

package source

import (
	"io"

	"golang.org/x/sys/unix"
)

// handle is an open file. It is a bare descriptor: os.File would try to put
// each file into the poller, two system calls that a regular file gains
// nothing from.
type handle int

// openFlags never hang (a FIFO, a device), never make a terminal ours, and
// follow no link: paths are resolved before.
const openFlags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY | unix.O_NOFOLLOW

func open(path string) (handle, error) {
	for {
		fd, err := unix.Open(path, openFlags, 0)
		if err != unix.EINTR {
			return handle(fd), err
		}
	}
}

func (h handle) close() { _ = unix.Close(int(h)) }

func (h handle) stamp() (stamp, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(h), &st); err != nil {
		return stamp{}, err
	}
	return stampOf(&st), nil
}

// Read is io.Reader's.
func (h handle) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(h), p)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}
