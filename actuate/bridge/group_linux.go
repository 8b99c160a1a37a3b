package bridge

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// pidfdGroup is PIDFD_SIGNAL_PROCESS_GROUP (Linux 6.9, pidfd_send_signal(2)): the
// signal goes to the group that the process of the pidfd leads or has led.
const pidfdGroup = 1 << 2

// group is the process group of a server. The handle stands for it also after its
// leader was reaped, so that no number has to be trusted.
type group struct {
	id    int
	pidfd int // -1 where the kernel has none
	done  bool
}

// groupAttr gives what makes a child the leader of a group of its own, and what makes
// the handle of it.
func groupAttr() (*syscall.SysProcAttr, func(pid int) group) {
	fd := new(int)
	*fd = -1
	return &syscall.SysProcAttr{Setpgid: true, PidFD: fd}, func(pid int) group { return group{id: pid, pidfd: *fd} }
}

func (g *group) signal(sig syscall.Signal) {
	if !g.empty() {
		_ = g.send(unix.Signal(sig))
	}
}

// empty says whether nobody is left, zombies included. Nothing is sent to a group that
// once was seen to be.
func (g *group) empty() bool {
	g.done = g.done || errors.Is(g.send(0), unix.ESRCH)
	return g.done
}

// send goes by the number of the group on kernels before 6.9. They give that number
// to no other process while the group has a member.
func (g *group) send(sig unix.Signal) error {
	if g.pidfd >= 0 {
		err := unix.PidfdSendSignal(g.pidfd, sig, nil, pidfdGroup)
		if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
			return err
		}
	}
	return unix.Kill(-g.id, sig)
}

func (g *group) close() {
	if g.pidfd >= 0 {
		unix.Close(g.pidfd)
		g.pidfd = -1
		g.done = true
	}
}
