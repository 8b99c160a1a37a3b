//go:build unix

package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockName is no manifest, and the source reads no dot files. The directory
// itself is not locked: a controller may hold a lock on it.
const lockName = ".proc-controller.lock"

const (
	// lockWait is how long another change may take.
	lockWait = 10 * time.Second
	lockLook = 10 * time.Millisecond
)

// lock keeps others out of a directory until unlock is called. It is an flock(2),
// which ends with its holder, on a file that is removed when it is given up: so
// whoever has locked one looks whether it is still that of the directory.
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	path := filepath.Join(dir, lockName)
	ticker := time.NewTicker(lockLook)
	defer ticker.Stop()
	for {
		f, err := tryLock(path)
		if err == nil {
			return func() {
				_ = os.Remove(path) // a file that stays locks nobody out
				f.Close()
			}, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, errors.New("another command is changing it, and does not come to an end")
		}
	}
}

// tryLock fails with EWOULDBLOCK where somebody else has the lock, or has just
// given it up.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	mine, err1 := f.Stat()
	there, err2 := os.Lstat(path)
	if err1 != nil || err2 != nil || !os.SameFile(mine, there) {
		f.Close()
		return nil, unix.EWOULDBLOCK
	}
	return f, nil
}
