//go:build unix

package main

import (
	"os"
	"syscall"
)

// upgradeSignals ask for an upgrade.
var upgradeSignals = []os.Signal{syscall.SIGUSR2}
