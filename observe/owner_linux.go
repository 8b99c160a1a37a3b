package observe

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

// OwnerAlive tells whether the controller of an owner lives, and its pid: it
// listens on an abstract unix socket that names user and owner. Nothing is sent
// on it. Known is false where that cannot be told: another user holds the name,
// or the system has no such sockets.
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
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || int(peer.Uid) != uid {
		return 0, false, false
	}
	return int(peer.Pid), true, true
}
