package main

import (
	"context"
	"os"
	"syscall"

	"github.com/proc-controller/proc-controller/spec"
)

// withControllerBrief is what the controller of a set is told.
type withControllerBrief struct {
	Owner     spec.Owner
	Dir       string // the private directory
	Linked    map[string]string
	Scopes    string
	TrustUIDs []int
	Verbose   bool
}

// withController is the life of the controller of a set. It ends when it gets a
// byte, or when who started it does; at a second byte it kills.
func withController(std streams) error {
	signals := watchSignals()
	var b withControllerBrief
	line, err := readBrief(&b)
	if err != nil {
		return err
	}
	// Whoever started the command is not waiting for this.
	os.Unsetenv("NOTIFY_SOCKET")
	told := bytesOf(line)
	go func() {
		for n := 0; ; n++ {
			_, more := <-told
			if n == 0 || more {
				signals.ending <- syscall.SIGTERM
			}
			if !more {
				return
			}
		}
	}()
	at := withPlaceFlags(b.Dir, b.Owner)
	p, err := at.locate(thisHost())
	if err != nil {
		return err
	}
	f := &runFlags{
		scopes: b.Scopes, trustUIDs: b.TrustUIDs, logFormat: "text", verbose: b.Verbose, linked: b.Linked,
	}
	return operate(context.Background(), std, &machine{place: p, signals: signals}, f, "")
}
