package observe

import (
	"fmt"
	"syscall"
)

// Peer is who was at the other end of a unix socket when it connected, or
// called listen(2). The kernel says so; nobody can claim it.
type Peer struct {
	PID int // 0 where the system does not tell
	UID int
}

// PeerOf asks the kernel who is at the other end of a connected unix socket. The
// error is ErrUnsupported where the system does not tell.
func PeerOf(c syscall.Conn) (p Peer, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var asked error
	if err = raw.Control(func(fd uintptr) { p, asked = peerOf(int(fd)) }); err == nil {
		err = asked
	}
	if err != nil {
		return Peer{}, fmt.Errorf("cannot tell the peer: %w", err)
	}
	return p, nil
}
