//go:build darwin || freebsd

package actuate

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxInherited bounds the descriptors that are looked at.
const maxInherited = 1024

// prepare keeps inherited descriptors and ignored signals from the children.
// There is no subreaper here: what children abandon goes to PID 1.
func prepare() error {
	for fd := 3; fd < maxInherited; fd++ {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			unix.CloseOnExec(fd)
		}
	}
	// Caught signals go back to their default at exec, ignored ones do not.
	for n := syscall.Signal(1); n < 32; n++ {
		if signal.Ignored(n) {
			signal.Notify(make(chan os.Signal, 1), n)
		}
	}
	return nil
}
