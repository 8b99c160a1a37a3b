package observe

import (
	"os"

	"golang.org/x/sys/unix"
)

// peerOf asks with SO_PEERCRED of unix(7).
func peerOf(fd int) (Peer, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, os.NewSyscallError("getsockopt", err)
	}
	return Peer{PID: int(cred.Pid), UID: int(cred.Uid)}, nil
}
