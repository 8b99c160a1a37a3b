//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	env := s.env
	if s.owner != "" {
		env = append(slices.Clip(env), markers(s.owner, name)...)
	}
	var pidfd int
	pid, err := syscall.ForkExec(s.payload, []string{s.payload, s.record, name}, &syscall.ProcAttr{
		Env:   env,
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

// childEnv is the environment of this process and padding, in variables of 64
// bytes, as programs have it rather than one long one.
func childEnv(pad int) []string {
	env := os.Environ()
	for i := 0; pad >= 64; i, pad = i+1, pad-64 {
		name := fmt.Sprintf("BENCH_PAD_%03d=", i)
		env = append(env, name+strings.Repeat("x", 63-len(name)))
	}
	return env
}

// markers are the variables by which a scan takes the child for the main
// process of a workload: the instance carries the tick of its start.
func markers(owner, name string) []string {
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	tick := now.Nano() / (1e9 / 100)
	return []string{
		"PROC_CONTROLLER_SUBPROCESS=1",
		"PROC_CONTROLLER_OWNER=" + owner,
		fmt.Sprintf("PROC_CONTROLLER_INSTANCE=%s-%d", strings.ReplaceAll(name, "-", ""), tick),
		"PROC_CONTROLLER_SPEC=9c1e",
		"PROC_CONTROLLER_ON_EXIT=Stop",
		"MCP_SERVICE_ID=" + name,
	}
}
