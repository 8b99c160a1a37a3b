//go:build !unix

package main

import "os"

// upgradeSignals is empty: no signal asks for an upgrade here.
var upgradeSignals []os.Signal
