package actuate

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// freeOldest frees all but about the last keep bytes of a file that others may
// be appending to. Where the file system can, the space is taken from under the
// old part and all offsets stay (fallocate(2) FALLOC_FL_PUNCH_HOLE: ext4, xfs,
// btrfs, tmpfs); elsewhere the file is copied and truncated.
func freeOldest(path string, size, keep int64) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	err = punch(f, size-keep)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return copyAndTruncate(f, size, keep)
	}
	return err
}

// punch frees the first bytes of a file, whole blocks only: a part of one would
// be written over with zeros instead.
func punch(f *os.File, bytes int64) error {
	const block = 4096
	bytes -= bytes % block
	if bytes <= 0 {
		return nil
	}
	const mode = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	return os.NewSyscallError("fallocate", unix.Fallocate(int(f.Fd()), mode, 0, bytes))
}

// openForWriting tells whether anybody has the file open for writing: a read
// lease is refused then (fcntl(2) F_SETLEASE). It is given back at once. Where
// leases cannot be had (another's file, a network file system) nothing can be
// told and the answer is no.
func openForWriting(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return errors.Is(err, unix.EAGAIN)
}
