//go:build unix && !linux

package bridge

import (
	"errors"
	"syscall"
)

// group is the process group of a server, by its number. The kernel gives the number
// to no other process while the group has a member, and once it was seen to be empty
// nothing is sent to it any more.
type group struct {
	id   int
	done bool
}

// groupAttr gives what makes a child the leader of a group of its own, and what makes
// the handle of it.
func groupAttr() (*syscall.SysProcAttr, func(pid int) group) {
	return &syscall.SysProcAttr{Setpgid: true}, func(pid int) group { return group{id: pid} }
}

func (g *group) signal(sig syscall.Signal) {
	if !g.empty() {
		_ = syscall.Kill(-g.id, sig)
	}
}

func (g *group) empty() bool {
	g.done = g.done || errors.Is(syscall.Kill(-g.id, 0), syscall.ESRCH)
	return g.done
}

func (*group) close() {}
