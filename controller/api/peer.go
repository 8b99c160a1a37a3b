package api

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/proc-controller/proc-controller/observe"
)

// checkPeer fails unless the process at the other end of a connection belongs
// to uid or to root. Where the system does not tell, the permissions of the
// socket's file are all there is.
func checkPeer(c net.Conn, uid int) error {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return fmt.Errorf("cannot tell the peer of a %T", c)
	}
	peer, err := observe.PeerOf(sc)
	switch {
	case errors.Is(err, observe.ErrUnsupported):
		return nil
	case err != nil:
		return err
	case peer.UID != uid && peer.UID != 0:
		return fmt.Errorf("the peer is uid %d; only uid %d and root may", peer.UID, uid)
	}
	return nil
}
