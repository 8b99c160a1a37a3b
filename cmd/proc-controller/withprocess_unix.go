//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// inheritedPipe is descriptor 3, for this process alone.
func inheritedPipe() *os.File {
	syscall.CloseOnExec(3)
	return os.NewFile(3, "pipe")
}

// signalOf is the number of the signal that has ended a process.
func signalOf(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return int(ws.Signal())
	}
	return 0
}

// leaveGroup has a command begin in a process group of its own, and gives ours.
func leaveGroup(cmd *exec.Cmd) (ours int) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return syscall.Getpgrp()
}

// joinGroup puts this process into a group of its session. One that is gone by now
// was that of a front that has died.
func joinGroup(group int) { _ = syscall.Setpgid(0, group) }
