//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// upgradeSignals ask for an upgrade.
var upgradeSignals = []os.Signal{syscall.SIGUSR2}

// notifyResize tells of a new size of the terminal.
func notifyResize(c chan<- os.Signal) { signal.Notify(c, syscall.SIGWINCH) }
