package logs

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Written tells whether anybody has a file open for writing: a read lease is
// refused then (fcntl(2) F_SETLEASE). It is given back at once. Where leases
// cannot be had (another user's file, a network file system) nothing can be told,
// and known is false.
func Written(f *os.File) (written, known bool) {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		return false, true
	}
	return true, errors.Is(err, unix.EAGAIN)
}

// dataFrom gives the first offset, from pos on, that has not been freed
// (lseek(2) SEEK_DATA), or pos where that cannot be told.
func dataFrom(f *os.File, pos int64) int64 {
	data, err := unix.Seek(int(f.Fd()), pos, unix.SEEK_DATA)
	if err != nil || data < pos {
		return pos
	}
	return data
}

// born is when a file was made (statx(2) STATX_BTIME: ext4, xfs, btrfs, and
// tmpfs since Linux 6.6), else when it was last written.
func born(f *os.File, fi os.FileInfo) time.Time {
	var st unix.Statx_t
	err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return fi.ModTime()
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
}
