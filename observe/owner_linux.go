package observe

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

// guardAnswers bounds the wait for what tells a guard from a controller.
const guardAnswers = 300 * time.Millisecond

// OwnerAlive tells whether the controller of an owner lives, and its pid: it
// listens on an abstract unix socket that names user and owner. Nothing is sent
// on it. The guard of a controller that died listens on it too, until its work
// is done, and says so: then the controller does not live, and pid is 0. Known
// is false where that cannot be told: another user holds the name, or the system
// has no such sockets.
func OwnerAlive(uid int, owner spec.Owner) (pid int, alive, known bool) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, false, false
	}
	defer unix.Close(fd)
	err = unix.Connect(fd, &unix.SockaddrUnix{Name: spec.LockAddress(uid, owner)})
	switch {
	case errors.Is(err, unix.ECONNREFUSED):
		return 0, false, true
	case errors.Is(err, unix.EAGAIN): // somebody listens, and is busy
		return 0, true, true
	case err != nil:
		return 0, false, false
	}
	peer, err := peerOf(fd)
	if err != nil || peer.UID != uid {
		return 0, false, false
	}
	if answered(fd) || Ended(int(peer.PID)) { // a guard may not have begun to answer
		return 0, false, true
	}
	return peer.PID, true, true
}

// answered says that the other end wrote something, as a guard does. A
// controller hangs up at once; one that is stopped does nothing.
func answered(fd int) bool {
	until := time.Now().Add(guardAnswers)
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		left := time.Until(until)
		n, err := unix.Poll(fds, int(max(left, 0).Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return false
		}
		var buf [1]byte
		got, err := unix.Read(fd, buf[:])
		return err == nil && got == 1
	}
}
