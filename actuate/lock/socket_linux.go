package lock

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// A controller is between bind and listen for an instant, in which nobody can
// connect: that long is waited for the holder to show itself.
const (
	showTries = 20
	showPause = 5 * time.Millisecond
)

// A guard that has been left the socket says so as soon as it has noticed the
// death of the controller and read the ledger; on a busy machine that takes its
// time.
const guardSpeaksWithin = 10 * time.Second

// listen takes the socket. It fails with a *HeldError, with errSquatted, or for
// another reason.
func listen(o Options) (hold, error) {
	began, silent := time.Now(), (*HeldError)(nil)
	addr := &net.UnixAddr{Net: "unix", Name: spec.LockAddress(o.UID, o.Owner)}
	for try := 0; try < showTries && time.Since(began) < guardSpeaksWithin; try++ {
		ln, err := net.ListenUnix("unix", addr)
		if err == nil {
			return serve(ln, nil), nil
		}
		if !errors.Is(err, unix.EADDRINUSE) {
			return nil, fmt.Errorf("cannot take the lock of owner %s: %v", o.Owner, cause(err))
		}
		err = holder(addr, o)
		if held, ok := errors.AsType[*HeldError](err); ok && held.Guard == "" && observe.Ended(held.PID) {
			// Its guard has the socket: one that has not spoken yet, or has just
			// finished.
			silent = held
		} else if !errors.Is(err, unix.ECONNREFUSED) {
			return nil, err
		}
		// Not listening: it has just begun, or has just ended.
		<-time.After(showPause)
	}
	if silent != nil {
		return nil, silent
	}
	return nil, errSquatted // a controller would listen by now
}

// holder says who listens: unix.ECONNREFUSED for nobody.
func holder(addr *net.UnixAddr, o Options) error {
	held := &HeldError{Owner: o.Owner, What: thisDirectory}
	conn, err := net.DialUnix("unix", nil, addr)
	switch {
	case errors.Is(err, unix.ECONNREFUSED):
		return unix.ECONNREFUSED
	case errors.Is(err, unix.EAGAIN):
		return held // it lives; its queue of connections is full (unix(7))
	case errors.Is(err, unix.EPROTOTYPE):
		return errSquatted // no stream socket, so no controller
	case err != nil:
		return fmt.Errorf("cannot ask who holds the lock of owner %s: %v", o.Owner, cause(err))
	}
	peer, err := observe.PeerOf(conn)
	switch {
	case err != nil:
		conn.Close()
		return fmt.Errorf("cannot tell who holds the lock of owner %s: %v", o.Owner, err)
	case peer.UID != o.UID:
		conn.Close()
		return errSquatted
	}
	held.PID = peer.PID
	held.hear(conn)
	return held
}

// cause leaves out the address, which begins with a NUL.
func cause(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op.Err
	}
	return err
}
