//go:build linux || darwin || freebsd

package lock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flock locks a directory for as long as the descriptor is open (flock(2)). It
// fails with a *heldFile if somebody has it. No child inherits it: the
// descriptor is closed on exec.
func flock(dir string) (hold, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return lockedFile{f}, nil
	}
	defer f.Close()
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return nil, err
	}
	return nil, &heldFile{pid: flockHolder(f)}
}

// lockedFile is a file with a flock on it.
type lockedFile struct{ *os.File }

func (f lockedFile) descriptor() (int, error) { return int(f.Fd()), nil }
