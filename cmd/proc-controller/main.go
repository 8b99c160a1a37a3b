package main

import (
	"os"
	"runtime"

	"github.com/proc-controller/proc-controller/actuate"
	_ "github.com/proc-controller/proc-controller/cmd/proc-controller/prefault" // first of all
)

// The main function runs on the main thread, and stays there: see MainThread.
func init() { runtime.LockOSThread() }

func main() {
	os.Exit(actuate.MainThread(func() int {
		return execute(os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	}))
}
