//go:build darwin || freebsd

package actuate

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

// sendGroup signals the group of a child of ours that is not reaped yet: until
// then its number, and that of the group that it leads, mean nothing else. A
// process that is no child cannot be held here, so it is proven by its start
// time alone, and its group is not signalled.
func (s *signalling) sendGroup(sig unix.Signal) (evidence []string, err error) {
	s.reaper.mu.Lock()
	defer s.reaper.mu.Unlock()
	h := s.reaper.byIdent[s.leader]
	if h == nil || !h.child || h.ended {
		return nil, ErrGone
	}
	err = unix.Kill(-s.leader.PID, sig)
	if errors.Is(err, unix.ESRCH) {
		return nil, ErrGone
	}
	return []string{notReaped}, os.NewSyscallError("kill", err)
}

// sendOne signals one process whose start time is still the one that was seen.
// Between the look and the signal there is a moment in which its pid could come
// to mean another process; this system has no handle that would close it.
func (s *signalling) sendOne(m *observe.Process, sig unix.Signal) (evidence []string, err error) {
	start, err := startTick(m.PID)
	switch {
	case errors.Is(err, ErrUnsupported):
		return m.Evidence, fmt.Errorf("refused: it cannot be verified: %v", err)
	case err != nil:
		return nil, ErrGone
	case start != m.Start:
		return m.Evidence, errors.New("refused: the pid belongs to another process now")
	}
	err = unix.Kill(m.PID, sig)
	if errors.Is(err, unix.ESRCH) {
		return nil, ErrGone
	}
	return append(m.Evidence[:len(m.Evidence):len(m.Evidence)], "start time read again"), os.NewSyscallError("kill", err)
}

// Watch begins to watch a process that is no child of ours.
func (a *Actuator) Watch(id observe.Ident) error {
	if err := refuse(id.PID); err != nil {
		return err
	}
	start, err := startTick(id.PID)
	if err != nil {
		return err
	}
	if start != id.Start {
		return ErrGone
	}
	return a.reaper.add(&handle{ident: id})
}

// identOf gives the ident of a child that is not reaped yet.
func identOf(c child) (observe.Ident, error) {
	start, err := startTick(c.pid)
	if errors.Is(err, ErrUnsupported) {
		start, err = uint64(time.Now().UnixMicro()), nil
	}
	return observe.Ident{PID: c.pid, Start: start}, err
}
