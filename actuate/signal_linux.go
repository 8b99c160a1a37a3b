package actuate

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

// sendGroup signals the group that the leader leads, through a handle on the
// leader: the one that has been held since the spawn or since it was verified,
// else one that is opened and proven now. It gives ErrGone where nothing is
// left to signal.
func (s *signalling) sendGroup(sig unix.Signal) (evidence []string, err error) {
	if h := s.reaper.lookup(s.leader); h != nil {
		return s.sendHeldGroup(h, sig)
	}
	if s.in.Main == nil {
		return nil, ErrGone // its number may name another group by now
	}
	fd, evidence, err := s.proven(s.in.Main)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return evidence, s.deliverGroup(fd, sig)
}

// sendHeldGroup uses a handle that is held. While the leader lives, /proc must
// agree with it; once it has ended, the handle alone still names the group that
// it led, and nobody else's.
func (s *signalling) sendHeldGroup(h *handle, sig unix.Signal) (evidence []string, err error) {
	evidence = []string{h.origin()}
	switch err := sameProcess(h.fd, h.ident); {
	case err == nil:
		evidence = append(evidence, "alive, with the start tick that it had then")
		return evidence, s.deliverGroup(h.fd, sig)
	case !errors.Is(err, ErrGone):
		return evidence, err
	case !groupSignals():
		return nil, ErrGone
	}
	evidence = append(evidence, "it has ended; its handle still names the group that it led")
	return evidence, deliver(h.fd, sig, signalGroup)
}

// origin says since when a handle has been held.
func (h *handle) origin() string {
	if h.child {
		return "a handle has been held since it was spawned"
	}
	return "a handle has been held since it was verified"
}

// deliverGroup signals the group whose leader lives and was just proven.
func (s *signalling) deliverGroup(fd int, sig unix.Signal) error {
	if groupSignals() {
		return deliver(fd, sig, signalGroup)
	}
	return deliverOneByOne(fd, s.leader, sig)
}

// sendOne signals one process through a handle that is opened and proven now.
func (s *signalling) sendOne(m *observe.Process, sig unix.Signal) (evidence []string, err error) {
	fd, evidence, err := s.proven(m)
	if err != nil {
		return m.Evidence, err
	}
	defer unix.Close(fd)
	return evidence, deliver(fd, sig, 0)
}

// proven opens a handle on a process and proves that it is still the one that
// the scan saw, and still ours. The order matters: if the handle is alive after
// /proc was read under the pid, then what was read is what the handle names.
func (s *signalling) proven(p *observe.Process) (fd int, evidence []string, err error) {
	if p.Verdict != observe.Ours {
		return -1, nil, fmt.Errorf("refused: its verdict is %v", p.Verdict)
	}
	if fd, err = openPidfd(p.PID); err != nil {
		return -1, nil, err
	}
	if evidence, err = s.confirm(fd, p.Ident); err != nil {
		unix.Close(fd)
		return -1, evidence, err
	}
	return fd, evidence, nil
}

// confirm reads a process anew and judges it by the rules of a scan.
func (s *signalling) confirm(fd int, id observe.Ident) (evidence []string, err error) {
	if err := sameProcess(fd, id); err != nil {
		return nil, err
	}
	verdict, evidence := observe.Confirm(id, s.claim())
	switch {
	case !alive(fd):
		return nil, ErrGone
	case verdict != observe.Ours:
		return evidence, fmt.Errorf("refused: its verdict is now %v", verdict)
	}
	return evidence, nil
}

// claim is what a member is taken for. What belongs to no instance is an orphan
// that was handed to us.
func (s *signalling) claim() observe.Claim {
	if s.in.ID == "" {
		return observe.Claim{Owner: s.opts.Owner, UID: s.opts.UID, Orphan: true}
	}
	return observe.Claim{
		Owner: s.opts.Owner, UID: s.expectedUID(), Key: s.in.Key, Instance: s.in.ID,
		Main: s.leader, Handle: s.reaper.lookup(s.leader) != nil, Verified: true,
	}
}

// expectedUID is the user that the instance was started as.
func (s *signalling) expectedUID() int {
	if s.in.UID != 0 {
		return int(s.in.UID)
	}
	return s.opts.UID
}

// errOther says that the pid has come to mean another process.
var errOther = errors.New("refused: the pid belongs to another process now")

// sameProcess proves that a handle names the process with this ident, and that
// it lives. ErrGone says that it has ended.
func sameProcess(fd int, id observe.Ident) error {
	start, err := startTick(id.PID)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ESRCH):
		return ErrGone
	case err != nil:
		return fmt.Errorf("refused: cannot verify it: %v", err)
	case !alive(fd):
		return ErrGone
	case start != id.Start:
		return errOther
	}
	return nil
}

// deliver sends through a pidfd (pidfd_send_signal(2), Linux 5.1).
func deliver(fd int, sig unix.Signal, flags int) error {
	err := unix.PidfdSendSignal(fd, sig, nil, flags)
	if errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	return os.NewSyscallError("pidfd_send_signal", err)
}
