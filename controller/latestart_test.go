package controller

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// lateStart is a machine on which the outcome of a start is told only after the
// main process has ended again, while a scan is under way that began after that
// end and saw what is left.
type lateStart struct {
	*machine
	main *simulated
	tell chan struct{}
	once sync.Once
}

func (l *lateStart) Start(e *spec.Entry, token string, _ spec.PortMap) (*observe.Instance, error) {
	l.mu.Lock()
	l.main = l.spawn(simulated{key: e.Key, hash: e.Hash, main: true, onExit: spec.ExitStop, id: spec.NewInstance(token, uint64(l.pid+1))})
	l.spawn(simulated{key: e.Key, hash: e.Hash, onExit: spec.ExitStop, id: l.main.id, lastMain: l.main.Ident, deaf: true})
	in := l.instance(l.main)
	l.mu.Unlock()
	<-l.tell
	return in, nil
}

func (l *lateStart) Scan(ctx context.Context, known []observe.Witness, d observe.Depth) observe.Snapshot {
	wait(time.Millisecond) // what has ended has ended before
	s := l.machine.Scan(ctx, known, d)
	if slices.ContainsFunc(s.Instances, func(in *observe.Instance) bool { return !in.Live() }) {
		l.once.Do(func() { close(l.tell); wait(time.Second) })
	}
	return s
}

// What an instance has left is not lost sight of when its start is told late:
// it is no proof of absence that a start knows of no members.
func TestLateStartDoesNotHideMembers(t *testing.T) {
	late := &lateStart{}
	faults := within(t, 5, func(m *machine, _ *Controller) {
		m.publish(setOf(entry(files, "a")))
		wait(time.Minute)
		m.publish(setOf()) // only what runs is stopped: its start is still on its way
		wait(time.Minute)
		m.mu.Lock()
		defer m.mu.Unlock()
		if late.main == nil || len(m.procs) > 0 {
			m.fault("started: %v, %d processes are left", late.main != nil, len(m.procs))
		}
	}, func(o *Options) {
		late.machine, late.tell = o.Actuator.(*machine), make(chan struct{})
		o.Actuator, o.Observer = late, late
	})
	for _, f := range faults {
		t.Error(f)
	}
}

// slowScope is a machine on which the first start waits for its scope until its
// process is ended, and then fails.
type slowScope struct {
	*machine
	main *simulated
}

// wrapperFailed is how such a start ends.
type wrapperFailed struct{ error }

func (wrapperFailed) StartReason() spec.Reason { return spec.ReasonWrapperFailed }

func (s *slowScope) Start(e *spec.Entry, token string, prefer spec.PortMap) (*observe.Instance, error) {
	if s.main != nil {
		return s.machine.Start(e, token, prefer)
	}
	s.mu.Lock()
	s.main = s.spawn(simulated{key: e.Key, hash: e.Hash, main: true, onExit: spec.ExitStop, id: spec.NewInstance(token, uint64(s.pid+1))})
	s.mu.Unlock()
	for range 1000 {
		wait(time.Second)
		s.mu.Lock()
		_, lives := s.procs[s.main.Ident]
		s.mu.Unlock()
		if !lives {
			break
		}
	}
	return nil, wrapperFailed{errTest}
}

// A start that was ended by a stop has not failed: it counts as little as the end
// of what was stopped after its start.
func TestStopOfAStartIsNoFailure(t *testing.T) {
	never := func(s *spec.Spec) { s.RestartPolicy = spec.RestartNever }
	slow := &slowScope{}
	faults := within(t, 6, func(m *machine, _ *Controller) {
		m.publish(setOf(entry(files, "a", never)))
		wait(time.Minute)
		m.publish(setOf(entry(files, "a", never, func(s *spec.Spec) { s.Suspend = true })))
		wait(time.Minute)
		m.publish(setOf(entry(files, "a", never)))
		wait(time.Minute)
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.procs[slow.main.Ident] != nil || m.mains(files) != 1 {
			m.fault("the first one runs: %v; %d run", m.procs[slow.main.Ident] != nil, m.mains(files))
		}
	}, func(o *Options) {
		slow.machine = o.Actuator.(*machine)
		o.Actuator = slow
	})
	for _, f := range faults {
		t.Error(f)
	}
}
