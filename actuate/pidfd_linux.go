package actuate

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// signalGroup is the flag of pidfd_send_signal(2) that addresses the process
// group which the process of the pidfd leads (PIDFD_SIGNAL_PROCESS_GROUP,
// Linux 6.9; not in x/sys yet). It works while the group has a member, also
// when its leader has long been reaped.
const signalGroup = 1 << 2

// groupSignals says whether the kernel knows signalGroup. It is asked once,
// with signal 0, about ourselves: ESRCH is the answer of a kernel that knows
// the flag to a process that leads no group.
var groupSignals = sync.OnceValue(func() bool {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	err = unix.PidfdSendSignal(fd, 0, nil, signalGroup)
	return err == nil || errors.Is(err, unix.ESRCH)
})

// openPidfd gives a handle on what bears the pid now. ErrGone says that nothing
// does.
func openPidfd(pid int) (int, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL):
		// EINVAL: the pid is a thread of some process, so no process has it.
		return -1, ErrGone
	case err != nil:
		return -1, os.NewSyscallError("pidfd_open", err)
	}
	return fd, nil
}

// alive tells whether the process of a pidfd still has a thread that runs.
func alive(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 0)
		if err == unix.EINTR {
			continue
		}
		return err == nil && n == 0
	}
}

// awaitEnd waits until the process of a pidfd has ended, through the runtime's
// poller and so without a thread. When ctx ends first it gives the error of ctx.
func awaitEnd(ctx context.Context, fd int) error {
	// A copy, since os.File closes what it was given.
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	if err := unix.SetNonblock(dup, true); err != nil {
		unix.Close(dup)
		return os.NewSyscallError("fcntl", err)
	}
	f := os.NewFile(uintptr(dup), "pidfd")
	defer f.Close()
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	err = conn.Read(func(fd uintptr) bool { return !alive(int(fd)) })
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
