//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// fill starts count children, named after the prefix.
func (s *supervisor) fill(prefix string, count int) error {
	for i := range count {
		if err := s.start(fmt.Sprintf("%s-%04d", prefix, i)); err != nil {
			return err
		}
	}
	return nil
}

// start runs the payload as a supervisor would: in a session of its own, with
// its output in a log file, tied to this thread's life.
func (s *supervisor) start(name string) error {
	log, err := unix.Open(filepath.Join(s.logs, name+".log"),
		unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("cannot open a log: %v", err)
	}
	defer unix.Close(log)
	var pidfd int
	pid, err := syscall.ForkExec(s.payload, []string{s.payload, s.record, name}, &syscall.ProcAttr{
		Env:   s.env,
		Files: []uintptr{uintptr(s.null), uintptr(log), uintptr(log)},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM, PidFD: &pidfd},
	})
	if err != nil {
		return fmt.Errorf("cannot start %s: %v", s.payload, err)
	}
	s.children[pidfd] = &child{name: name, pid: pid}
	s.poll(pidfd)
	return nil
}

// reap collects the child behind a pidfd that has become readable.
func (s *supervisor) reap(pidfd int) *child {
	c := s.children[pidfd]
	unix.Waitid(unix.P_PIDFD, pidfd, nil, unix.WEXITED, nil)
	unix.Close(pidfd)
	delete(s.children, pidfd)
	return c
}

// stopAll signals every child through its handle and waits for all of them.
func (s *supervisor) stopAll() {
	s.restart = false
	for pidfd := range s.children {
		unix.PidfdSendSignal(pidfd, unix.SIGTERM, nil, 0)
	}
	for pidfd := range s.children {
		s.reap(pidfd)
	}
}
