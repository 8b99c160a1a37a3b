//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// inheritedPipe is empty: no descriptors are handed on here.
func inheritedPipe() *os.File {
	f, _ := os.Open(os.DevNull)
	return f
}

// signalOf is 0: no signal ends a process here.
func signalOf(*os.ProcessState) int { return 0 }

// leaveGroup and joinGroup do nothing: there are no process groups here.
func leaveGroup(*exec.Cmd) int { return 0 }

func joinGroup(int) {}
