package source

import "golang.org/x/sys/unix"

// quiet tells whether nobody has the file open for writing. It takes a read
// lease, which the kernel grants only then, and drops it at once: a lease that
// is kept would hold up the next writer (fcntl(2), F_SETLEASE). One that comes
// in between waits those microseconds, and we are sent a SIGIO, which the Go
// runtime ignores. The error is
// errNoLease where leases are refused on principle: EACCES for another user's
// file without CAP_LEASE, EINVAL or the like on file systems without them.
func (h handle) quiet() (bool, error) {
	_, err := unix.FcntlInt(uintptr(h), unix.F_SETLEASE, unix.F_RDLCK)
	switch err {
	case nil:
	case unix.EAGAIN:
		return false, nil
	default:
		return false, errNoLease
	}
	if _, err := unix.FcntlInt(uintptr(h), unix.F_SETLEASE, unix.F_UNLCK); err != nil {
		// The caller closes the file next, which drops the lease as well.
		return false, errNoLease
	}
	return true, nil
}
