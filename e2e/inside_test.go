//go:build linux

package e2e

import (
	"os/exec"
	"strconv"
)

// inside runs a command in the mount namespace of the controller, as root.
func (r *rig) inside(command ...string) {
	r.t.Helper()
	argv := append([]string{"--target", strconv.Itoa(r.pid()), "--mount"}, command...)
	// A full disk is reached by a write that fails: the exit code says nothing.
	if out, err := exec.Command("nsenter", argv...).CombinedOutput(); err != nil && len(out) > 0 {
		r.t.Fatalf("%v: %v\n%s", command, err, out)
	}
}
