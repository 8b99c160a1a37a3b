//go:build !unix

package main

import "os"

// upgradeSignals is empty: no signal asks for an upgrade here.
var upgradeSignals []os.Signal

// notifyResize tells nothing: this system has no signal for it.
func notifyResize(chan<- os.Signal) {}
