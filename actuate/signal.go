//go:build linux || darwin || freebsd

package actuate

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// signalling is one signal on its way to an instance.
type signalling struct {
	*Actuator
	in     *observe.Instance
	leader observe.Ident // of group and session; zero where it is not known
	mode   spec.KillMode
	sent   []observe.Sent
}

// Signal sends a signal to the process group of the main process and to each
// verified member outside of it, then SIGCONT, so that what is stopped gets to
// hear the first. SIGKILL goes through the cgroup too, where there is one of the
// instance's own. With spec.KillGroup, members that left both group and session
// are left alone, and named in the answer.
//
// An instance without a name stands for orphans: its members are children of
// this process that belong to no instance that is known.
//
// Identity is proven immediately before each signal, through the handle that it
// is sent with; what fails the proof is not signalled, and the record says why.
// What is gone already has no record. Calling it again is harmless. The error
// says that there was something to signal and nothing could be.
func (a *Actuator) Signal(in *observe.Instance, sig int, mode spec.KillMode) ([]observe.Sent, error) {
	s := &signalling{Actuator: a, in: in, leader: leaderOf(in), mode: mode}
	a.atDesk(func() { s.send(unix.Signal(sig)) })
	return s.sent, s.failure()
}

func (s *signalling) send(signal unix.Signal) {
	if signal == unix.SIGKILL {
		s.killCgroup()
	}
	s.everyone(signal)
	if signal != unix.SIGKILL && signal != unix.SIGSTOP && signal != unix.SIGCONT {
		s.everyone(unix.SIGCONT)
	}
}

// leaderOf is the main process, which leads group and session, alive or not.
func leaderOf(in *observe.Instance) observe.Ident {
	if in.LastMain.IsZero() && in.Main != nil {
		return in.Main.Ident
	}
	return in.LastMain
}

func (s *signalling) everyone(sig unix.Signal) {
	reached := s.group(sig)
	for _, m := range s.in.Members {
		switch {
		case reached && m.PGID == s.leader.PID:
		case s.leaves(m):
			if sig != unix.SIGCONT {
				s.record(m.Ident, false, sig, m.Evidence, errLeftAlone)
			}
		default:
			s.member(m, sig)
		}
	}
}

var errLeftAlone = errors.New("left alone: it left both the process group and the session")

// leaves says whether the kill mode spares a member. Where group and session of
// the main process are not known, nothing is known to have left them.
func (s *signalling) leaves(m *observe.Process) bool {
	return s.mode == spec.KillGroup && !s.leader.IsZero() && m.PGID != s.leader.PID && m.SID != s.leader.PID
}

// group signals the process group of the main process. It says whether every
// process of the group was reached, or there is none left.
func (s *signalling) group(sig unix.Signal) (reached bool) {
	if s.leader.IsZero() {
		return false
	}
	if err := refuse(s.leader.PID); err != nil {
		s.record(s.leader, true, sig, nil, err)
		return false
	}
	evidence, err := s.sendGroup(sig)
	if errors.Is(err, ErrGone) {
		return false
	}
	s.record(s.leader, true, sig, evidence, err)
	return err == nil
}

// member signals one verified process that the group signal does not reach.
func (s *signalling) member(m *observe.Process, sig unix.Signal) {
	err := refuse(m.PID)
	if err == nil && m.Verdict != observe.Ours {
		err = fmt.Errorf("refused: its verdict is %v", m.Verdict)
	}
	if err == nil && s.in.ID == "" && s.Spawned(m.PID) {
		err = errors.New("refused: it is no orphan, but was started by the controller itself")
	}
	evidence := m.Evidence
	if err == nil {
		evidence, err = s.sendOne(m, sig)
	}
	if !errors.Is(err, ErrGone) {
		s.record(m.Ident, false, sig, evidence, err)
	}
}

// killCgroup kills everything in the instance's own cgroup at once, so that
// nothing can fork its way out.
func (s *signalling) killCgroup() {
	cgroup := s.in.Scope.Cgroup
	if cgroup == "" || s.in.Main == nil && len(s.in.Members) == 0 {
		return
	}
	name := strings.TrimSuffix(path.Base(cgroup), ".scope")
	if name != observe.ScopeName(s.opts.Owner, s.in.ID) {
		s.record(s.leader, true, unix.SIGKILL, nil, fmt.Errorf("refused: the cgroup %s is not that of the instance", cgroup))
		return
	}
	err := s.scopes.Kill(s.in.Scope)
	if err == nil || !errors.Is(err, scope.ErrNoKill) {
		s.record(s.leader, true, unix.SIGKILL, []string{"everything in the cgroup " + cgroup + ", whose name carries owner and instance"}, err)
	}
}

// notReaped is the evidence on a child: until it is reaped, nothing else can
// have its number, or that of the group that it leads.
const notReaped = "a child of ours that is not reaped yet"

// refuse names pids that no signal may ever go to: kill(2) takes 0 and negative
// numbers for groups and -1 for everybody, 1 is the machine, and one of them is
// us.
func refuse(pid int) error {
	if pid <= 1 || pid > math.MaxInt32 || pid == os.Getpid() {
		return fmt.Errorf("refused: pid %d is never signalled", pid)
	}
	return nil
}

func (s *signalling) record(to observe.Ident, group bool, sig unix.Signal, evidence []string, err error) {
	r := observe.Sent{Target: to, Group: group, Signal: int(sig), Evidence: evidence}
	if err != nil {
		r.Err = err.Error()
	}
	s.sent = append(s.sent, r)
}

// failure is the first error, if nothing was sent at all.
func (s *signalling) failure() error {
	for _, r := range s.sent {
		if r.Err == "" {
			return nil
		}
	}
	for _, r := range s.sent {
		if r.Err != errLeftAlone.Error() {
			return fmt.Errorf("cannot signal %v: %s", r.Target, r.Err)
		}
	}
	return nil
}
