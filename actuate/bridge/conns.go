package bridge

import (
	"net"
	"sync"
)

// limited bounds how many connections there are at a time: more wait in the queue of
// the kernel.
func limited(l net.Listener, n int) net.Listener {
	return &limitedListener{Listener: l, free: make(chan struct{}, n), closed: make(chan struct{})}
}

type limitedListener struct {
	net.Listener
	free   chan struct{}
	once   sync.Once
	closed chan struct{}
}

func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &limitedConn{Conn: c, free: l.free}, nil
}

func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	once sync.Once
	free chan struct{}
}

func (c *limitedConn) Close() error {
	c.once.Do(func() { <-c.free })
	return c.Conn.Close()
}
