//go:build !unix

package bridge

import (
	"os"
	"syscall"
)

// group is the server's process alone, where the system has no process groups.
type group struct{ p *os.Process }

func groupAttr() (*syscall.SysProcAttr, func(pid int) group) {
	return nil, func(pid int) group {
		p, _ := os.FindProcess(pid) // nil is left alone
		return group{p: p}
	}
}

func (g *group) signal(syscall.Signal) {
	if g.p != nil {
		_ = g.p.Kill()
	}
}

func (*group) empty() bool { return true }

func (g *group) close() {
	if g.p != nil {
		_ = g.p.Release()
	}
}
