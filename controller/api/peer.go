package api

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// errPeerUnknown says that this system does not tell who is at the other end of
// a unix socket. The permissions of the socket's file are then all there is.
var errPeerUnknown = errors.New("this system does not tell the peer of a unix socket")

// checkPeer fails unless the process at the other end of a connection belongs
// to uid or to root.
func checkPeer(c net.Conn, uid int) error {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return fmt.Errorf("cannot tell the peer of a %T", c)
	}
	peer, err := peerUID(sc)
	switch {
	case errors.Is(err, errPeerUnknown):
		return nil
	case err != nil:
		return fmt.Errorf("cannot tell the peer: %w", err)
	case peer != uid && peer != 0:
		return fmt.Errorf("the peer is uid %d; only uid %d and root may", peer, uid)
	}
	return nil
}
