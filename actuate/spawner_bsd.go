//go:build darwin || freebsd

package actuate

import "syscall"

// childAttributes asks for a session of its own. There is no pidfd, no cgroup,
// and no parent-death signal that Go could set on all of these systems.
func childAttributes(l *launch, _ *child) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Credential: l.credential}
}

// emptySignalMask does nothing: Go starts its threads with the mask that the
// process was started with, and offers no way to change it here.
func emptySignalMask() (restore func()) { return func() {} }

// blockSignals does nothing, for the same reason.
func blockSignals([]syscall.Signal) (restore func()) { return func() {} }
