package lock

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// server accepts, so that the queue of connections never fills up. That of a
// controller closes each connection without a word. That of a guard says what
// it does, and keeps the connection open until it ends.
type server struct {
	ln     *net.UnixListener
	answer func() string // nil for a controller
	done   sync.WaitGroup

	mu      sync.Mutex
	waiting []net.Conn
	closed  bool
}

func serve(ln *net.UnixListener, answer func() string) *server {
	s := &server{ln: ln, answer: answer}
	s.done.Go(s.accept)
	return s
}

func (s *server) accept() {
	for {
		conn, err := s.ln.Accept()
		switch {
		case err == nil:
			s.greet(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default: // no descriptors left: still listening, which is what counts
			<-time.After(showPause)
		}
	}
}

// greetWithin bounds the writing of the one line: it fits into any buffer.
const greetWithin = time.Second

func (s *server) greet(conn net.Conn) {
	if s.answer == nil {
		conn.Close()
		return
	}
	_ = conn.SetWriteDeadline(time.Now().Add(greetWithin))
	_, err := conn.Write([]byte(s.answer() + "\n"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || s.closed {
		conn.Close()
		return
	}
	s.waiting = append(s.waiting, conn)
}

// descriptor is that of the socket. It stays the listener's.
func (s *server) descriptor() (fd int, err error) {
	raw, err := s.ln.SyscallConn()
	if err != nil {
		return -1, err
	}
	err = raw.Control(func(f uintptr) { fd = int(f) })
	return fd, err
}

// Close frees the address first, then lets those go who wait for it.
func (s *server) Close() error {
	err := s.ln.Close()
	s.done.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, conn := range s.waiting {
		conn.Close()
	}
	s.waiting = nil
	return err
}

// Adopt takes over a lock that another process image acquired: the descriptors
// are those that Descriptors gave there, under the numbers that they have here.
// They are the Lock's from now on.
//
// A guard gives an answer: what it tells, in a line, whoever wants the lock. It
// is called from another goroutine. A controller gives nil.
func Adopt(fds []int, answer func() string) (*Lock, error) {
	l := &Lock{}
	for _, fd := range fds {
		h, err := adopt(fd, answer)
		if err != nil {
			l.Release()
			return nil, err
		}
		l.held = append(l.held, h)
	}
	return l, nil
}

func adopt(fd int, answer func() string) (hold, error) {
	unix.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "lock")
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, os.NewSyscallError("fstat", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return lockedFile{f}, nil
	}
	defer f.Close() // the listener has a copy
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	socket, ok := ln.(*net.UnixListener)
	if !ok {
		ln.Close()
		return nil, errors.New("cannot take over a lock that is no unix socket")
	}
	return serve(socket, answer), nil
}
