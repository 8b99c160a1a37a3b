//go:build darwin || freebsd

package actuate

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// claim is empty: there are no abstract sockets here, and a file would outlive
// its holder. Two controllers that choose at the same moment may collide; the
// loser's child then fails to bind and is started again.
type claim struct{}

func claimPort(uint16) (claim, bool) { return claim{}, true }

func (claim) release() {}

// streamSocket opens a socket that no child inherits. There is no SOCK_CLOEXEC
// on all of these systems, so the fork lock is held.
func streamSocket(family int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	return fd, err
}

// ephemeralRange is the default of net.inet.ip.portrange (IANA's range).
func ephemeralRange() portRange { return portRange{49152, 65535} }
