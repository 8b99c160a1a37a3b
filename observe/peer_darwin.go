package observe

import (
	"os"

	"golang.org/x/sys/unix"
)

// peerOf asks with LOCAL_PEERCRED of unix(4).
func peerOf(fd int) (Peer, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return Peer{}, os.NewSyscallError("getsockopt", err)
	}
	return Peer{UID: int(cred.Uid)}, nil
}
