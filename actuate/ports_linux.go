package actuate

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// claim is a listening abstract unix socket (unix(7)) named after the port. It
// shares the network namespace with the port, so that two controllers which
// choose at the same moment see each other, and it ends with its holder.
type claim struct{ fd int }

// claimPort takes the claim, or says that another controller has it. Where the
// kernel gives no socket at all (no descriptors left) nothing is claimed and the
// port is used all the same.
func claimPort(port uint16) (claim, bool) {
	fd, err := streamSocket(unix.AF_UNIX)
	if err != nil {
		return claim{-1}, true
	}
	name := "@proc-controller/port/" + strconv.Itoa(int(port))
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		unix.Close(fd)
		return claim{-1}, false
	}
	// Nobody ever connects: listening only makes the holder show in ss(8).
	_ = unix.Listen(fd, 0)
	return claim{fd}, true
}

// release gives the claim back at once: a child that is just being forked has a copy of
// the socket until its execve(2), so none is meanwhile.
func (c claim) release() {
	if c.fd >= 0 {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		unix.Close(c.fd)
	}
}

func streamSocket(family int) (int, error) {
	return unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
}

// ephemeralRange reads the range from which the kernel picks local ports
// (ip(7)); the default of the kernel where it cannot be read.
func ephemeralRange() portRange {
	r := portRange{32768, 60999}
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return r
	}
	var low, high int
	if n, _ := fmt.Sscan(string(b), &low, &high); n == 2 {
		r = portRange{low, high}
	}
	return r
}
