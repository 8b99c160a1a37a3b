package actuate

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/actuate/logs"
)

// freeOldest frees all but about the last keep bytes of a file that others may
// be appending to. Where the file system can, the space is taken from under the
// old part and all offsets stay (fallocate(2) FALLOC_FL_PUNCH_HOLE: ext4, xfs,
// btrfs, tmpfs); elsewhere the file is copied and truncated.
func freeOldest(path string, size, keep int64, times *logs.Recorder) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	err = punch(f, size-keep)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return times.Cut(max(0, size-keep), func() error { return copyAndTruncate(f, size, keep) })
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
