//go:build linux || darwin || freebsd

package actuate

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// enrol registers a child, on the forking thread: from here on the guard knows what
// it is. Until then a kill of the controller would leave nobody who does, unless its
// environment can be read.
func (s *start) enrol(c child) {
	s.reaper.expect(c)
	if s.ident, s.unread = identOf(c); s.unread != nil {
		s.ident.PID = c.pid
		return
	}
	s.reaper.enter(observe.Witness{
		Key: s.entry.Key, ID: s.markers.Instance, UID: s.otherUID(), Hash: s.entry.Hash, OnExit: s.markers.OnExit, Main: s.ident,
	})
}

// settle proves that the child is what and where it should be, and begins to
// watch it.
func (s *start) settle() *StartError {
	var err error
	if s.unread != nil {
		return startErrorf(spec.ReasonSpawnFailed, "cannot run %s: %v", s.program, s.unread)
	}
	if s.scope, err = s.fence.Verify(s.waits, s.ident.PID); err != nil {
		return s.explainScope(err)
	}
	if s.atDesk(func() { err = s.watch() }); err != nil {
		return startErrorf(spec.ReasonSpawnFailed, "cannot run %s: %v", s.program, err)
	}
	return nil
}

// watch has the end of the child and the growth of its output looked for.
func (s *start) watch() error {
	h := &handle{ident: s.ident, fd: s.child.fd, child: true}
	if sc := s.scope; sc.Cgroup != "" {
		h.oom = func() bool { return s.scopes.OOMKilled(sc) }
	}
	if err := s.reaper.add(h); err != nil {
		return err
	}
	if s.logPath != "" {
		s.logs.Add(s.logPath, s.entry.Object.Spec.Logs.Bounds())
	}
	return nil
}

// explainScope turns a child that is not in its scope into a start error, with
// what the wrapper had to say.
func (s *start) explainScope(err error) *StartError {
	reason := spec.ReasonWrapperFailed
	if errors.Is(err, scope.ErrLimitsNotApplied) {
		reason = spec.ReasonLimitsNotApplied
	}
	if line := LastLine(s.logPath); line != "" {
		err = fmt.Errorf("%w (it wrote: %s)", err, line)
	}
	return startErrorf(reason, "cannot run %s in a scope: %v", s.program, err)
}

// instance is what has been started.
func (s *start) instance() *observe.Instance {
	return &observe.Instance{
		Key: s.entry.Key, ID: s.markers.Instance, Hash: s.entry.Hash,
		OnExit: s.markers.OnExit, Ports: s.ports, UID: s.otherUID(),
		Main:     s.mainProcess(s.ident, s.uid(), os.Getpid(), s.entry.Key, s.scope.Cgroup),
		LastMain: s.ident, StartedAt: s.began, Scope: s.scope, Log: s.logPath, Child: true,
		Program: programFile(s.wanted),
	}
}

// kill ends what was spawned by a start that failed afterwards: what is in the
// scope already, and the group of the child. It says what it has sent.
func (s *start) kill() []observe.Sent {
	k := &signalling{Actuator: s.Actuator, in: s.instance(), leader: s.ident}
	k.killCgroup()
	if err := killChild(s.child); !errors.Is(err, unix.ESRCH) {
		k.record(s.ident, true, unix.SIGKILL, []string{notReaped}, os.NewSyscallError("kill", err))
	}
	s.reaper.reap(s.child)
	return k.sent
}
