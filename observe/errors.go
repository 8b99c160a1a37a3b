package observe

import "errors"

// ErrUnsupported says that processes cannot be identified on this operating
// system: nothing may be decided there.
var ErrUnsupported = errors.New("processes cannot be identified on this operating system")

// ErrHidden says that the process table does not show everything, so that the
// absence of a process cannot be proven.
var ErrHidden = errors.New("the process table hides processes")

// ErrGone says that a process has ended, or that its pid is another one's now.
var ErrGone = errors.New("the process is gone")

// ErrStuck says that the kernel did not answer for a process in time.
var ErrStuck = errors.New("reading the process does not come back")

// ErrNoUsage says that this system does not tell what a process uses.
var ErrNoUsage = errors.New("what processes use cannot be read on this operating system")
