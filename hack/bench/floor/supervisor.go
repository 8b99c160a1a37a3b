//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// supervisor starts children and waits for requests, exits and signals in one
// thread.
type supervisor struct {
	payload, record, logs string
	restart               bool

	epoll    int
	null     int
	inotify  int // -1 without -watch
	signals  int // read end of the pipe that SIGTERM is written to
	env      []string
	children map[int]*child // by pidfd
	partial  []byte         // start of a line of stdin
}

type child struct {
	name string
	pid  int
}

var errDone = errors.New("end of requests")

// open prepares what every start and every wait uses.
func (s *supervisor) open(watch string) error {
	var err error
	s.children = map[int]*child{}
	s.inotify = -1
	s.env = os.Environ()
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("cannot create epoll: %v", err)
	}
	if s.null, err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("cannot open %s: %v", os.DevNull, err)
	}
	if watch != "" {
		if s.inotify, err = unix.InotifyInit1(unix.IN_CLOEXEC); err != nil {
			return fmt.Errorf("cannot watch: %v", err)
		}
		if _, err = unix.InotifyAddWatch(s.inotify, watch, unix.IN_MOVED_TO); err != nil {
			return fmt.Errorf("cannot watch %s: %v", watch, err)
		}
		s.poll(s.inotify)
	}
	if s.signals, err = signalPipe(); err != nil {
		return err
	}
	s.poll(s.signals)
	s.poll(0)
	return nil
}

// signalPipe gives a descriptor that becomes readable on SIGTERM.
func signalPipe() (int, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return -1, fmt.Errorf("cannot make a pipe: %v", err)
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-c
		unix.Write(p[1], []byte{0})
	}()
	return p[0], nil
}

func (s *supervisor) poll(fd int) {
	unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// loop serves until the requests end.
func (s *supervisor) loop() error {
	events := make([]unix.EpollEvent, 64)
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.EpollWait(s.epoll, events, -1)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("cannot wait: %v", err)
		}
		for _, e := range events[:max(n, 0)] {
			if err := s.serve(int(e.Fd), buf); errors.Is(err, errDone) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
}

func (s *supervisor) serve(fd int, buf []byte) error {
	switch fd {
	case s.signals:
		return errDone
	case 0:
		n, err := unix.Read(0, buf)
		if n <= 0 || err != nil {
			return errDone
		}
		return s.requests(buf[:n])
	case s.inotify:
		n, err := unix.Read(fd, buf)
		if err != nil {
			return fmt.Errorf("cannot read file events: %v", err)
		}
		return s.renamed(buf[:n])
	}
	c := s.reap(fd)
	if s.restart {
		return s.start(c.name)
	}
	return nil
}

// requests carries out the complete lines among the bytes.
func (s *supervisor) requests(b []byte) error {
	s.partial = append(s.partial, b...)
	for {
		line, rest, ok := bytes.Cut(s.partial, []byte("\n"))
		if !ok {
			return nil
		}
		var name string
		var count int
		var err error
		if _, e := fmt.Sscanf(string(line), "fill %s %d", &name, &count); e == nil {
			err = s.fill(name, count)
		} else if name, ok := strings.CutPrefix(string(line), "start "); ok {
			err = s.start(name)
		} else {
			err = fmt.Errorf("unknown request %q", line)
		}
		if err != nil {
			return err
		}
		s.partial = append(s.partial[:0], rest...)
	}
}

// renamed starts a child for each inotify event, as inotify(7) lays them out:
// watch, mask, cookie and length of 4 bytes each, then the padded name.
func (s *supervisor) renamed(b []byte) error {
	for len(b) >= unix.SizeofInotifyEvent {
		length := int(uint32(b[12]) | uint32(b[13])<<8 | uint32(b[14])<<16 | uint32(b[15])<<24)
		name := string(bytes.TrimRight(b[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+length], "\x00"))
		if err := s.start(strings.TrimSuffix(name, filepath.Ext(name))); err != nil {
			return err
		}
		b = b[unix.SizeofInotifyEvent+length:]
	}
	return nil
}
