package api

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

// limitListener accepts a connection only when a slot is free. The slots may be
// shared by several listeners.
type limitListener struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
}

// limited bounds the connections of a listener by slots.
func limited(l net.Listener, slots chan struct{}) *limitListener {
	return &limitListener{Listener: l, slots: slots, closed: make(chan struct{})}
}

// Accept waits for a slot, then for a connection.
func (l *limitListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitConn{Conn: c, slots: l.slots}, nil
}

// Close ends Accept, also where that waits for a slot.
func (l *limitListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// limitConn gives its slot back when it is closed, once.
type limitConn struct {
	net.Conn
	slots chan struct{}
	once  sync.Once
}

func (c *limitConn) Close() error {
	err := c.Conn.Close()
	c.release()
	return err
}

// release gives the slot back while the connection goes on.
func (c *limitConn) release() { c.once.Do(func() { <-c.slots }) }

// slotOf is the slot of a connection; nil where it needs none.
func slotOf(c net.Conn) *limitConn {
	limited, _ := c.(*limitConn)
	return limited
}

// SyscallConn gives the connection itself: the peer is asked for through it.
func (c *limitConn) SyscallConn() (syscall.RawConn, error) {
	sc, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return sc.SyscallConn()
}
