//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// fosterPayload as the first argument makes this test binary run a command as
// the one to whom orphans are handed: "reaps" takes their exit status at once,
// "hoards" never does.
const fosterPayload = "e2e-foster"

func foster(args []string) int {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for args[0] == "reaps" {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(-1, &status, 0, nil); err == syscall.ECHILD {
			break
		}
	}
	select {} // until the test ends it
}
