//go:build linux || darwin || freebsd

package actuate

import (
	"errors"
	"fmt"
	"os"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// settle proves that the child is what and where it should be, and begins to
// watch it.
func (s *start) settle() (*observe.Instance, error) {
	id, err := identOf(s.child)
	if err != nil {
		return nil, startErrorf(spec.ReasonSpawnFailed, "cannot run %s: %v", s.program, err)
	}
	s.reaper.enter(id)
	sc, err := s.fence.Verify(s.waits, id.PID)
	if err != nil {
		_ = s.scopes.Kill(sc) // beside the group; there may be no cgroup yet
		return nil, s.explainScope(err)
	}
	h := &handle{ident: id, fd: s.child.fd, child: true}
	if sc.Cgroup != "" {
		h.oom = func() bool { return s.scopes.OOMKilled(sc) }
	}
	if err := s.reaper.add(h); err != nil {
		return nil, startErrorf(spec.ReasonSpawnFailed, "cannot run %s: %v", s.program, err)
	}
	if s.logPath != "" {
		s.logs.Add(s.logPath)
	}
	return s.instance(id, sc), nil
}

// explainScope turns a child that is not in its scope into a start error, with
// what the wrapper had to say.
func (s *start) explainScope(err error) error {
	reason := spec.ReasonWrapperFailed
	if errors.Is(err, scope.ErrLimitsNotApplied) {
		reason = spec.ReasonLimitsNotApplied
	}
	if line := LastLine(s.logPath); line != "" {
		err = fmt.Errorf("%w (it wrote: %s)", err, line)
	}
	return startErrorf(reason, "cannot run %s in a scope: %v", s.program, err)
}

func (s *start) instance(id observe.Ident, sc observe.Scope) *observe.Instance {
	return &observe.Instance{
		Key: s.entry.Key, ID: s.markers.Instance, Hash: s.entry.Hash,
		OnExit: s.markers.OnExit, Ports: s.ports, UID: s.otherUID(),
		Main:     s.mainProcess(id, s.uid(), os.Getpid(), s.entry.Key, sc.Cgroup),
		LastMain: id, StartedAt: s.began, Scope: sc, Log: s.logPath, Child: true,
		Program: programFile(s.program),
	}
}

// kill ends what was spawned by a start that failed afterwards.
func (s *start) kill() {
	killChild(s.child)
	s.reaper.reap(s.child)
}
