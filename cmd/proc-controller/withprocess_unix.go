//go:build unix

package main

import (
	"os"
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
