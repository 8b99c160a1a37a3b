package controller

import (
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// A run has gone well once it was ready, if a probe or a declared port can tell;
// once it has lasted for the stretch that clears the count of crashes; or if it
// ended as it should: stopped on somebody's wish after it had run for a while, or
// as a one-shot that has done its work. What it was made of is written down then:
// a later death is compared with it.

// praiseIfGood has a run written down that goes well, once.
func (p *planner) praiseIfGood(s *situation, in *observe.Instance) {
	r := s.history.instance(in.ID)
	if r == nil || r.Good || in.Hash != s.entry.Hash {
		return
	}
	lasts := in.StartedAt.Add(time.Duration(s.entry.Object.Spec.Backoff.ResetAfter))
	if p.w.Now.Before(lasts) && !(tellsReady(&s.entry.Object.Spec) && p.w.healthOf(s.entry, s.history, in).ready) {
		p.wake(lasts)
		return
	}
	p.act(Action{Type: Praise, Key: s.key, Entry: s.entry, Instance: in, Reason: spec.ReasonRunning})
}

// tellsReady says that to be ready is more than to run.
func tellsReady(sp *spec.Spec) bool { return sp.ReadinessProbe != nil || len(sp.Ports) > 0 }

// praise writes down a run that goes well.
func (l *loop) praise(k spec.Key, id spec.Instance) {
	if r := l.world.History.Of(k).instance(id); r != nil {
		l.fold(WentWell{Key: k, ID: id})
		l.keepGood(k, *r)
	}
}

// praiseEnded writes down a run that has ended well. What a stop took does not
// count for how long it ran.
func (l *loop) praiseEnded(e *Exited, r InstanceRecord, st *StopState) {
	t := &e.Termination
	until := t.FinishedAt
	if st != nil {
		until = st.At
	}
	stopped := t.Reason == spec.ReasonStopped && until.Sub(t.StartedAt) > endsAtOnce
	if !r.Good && (stopped || completesAsWanted(t, r.Entry)) {
		l.keepGood(e.Key, r)
	}
}

func (l *loop) keepGood(k spec.Key, r InstanceRecord) {
	if l.Deaths == nil || r.Entry == nil {
		return
	}
	l.file(func() outcome {
		l.Deaths.Good(k, spec.Run{Instance: r.ID, StartedAt: r.StartedAt, Facts: l.factsOf(&r)})
		return func(l *loop) { l.calm = true }
	})
}

// introduce notes which manifest each instance runs by. That of a key which is
// not wanted any more is gone, and still says how to part with it.
func (l *loop) introduce() {
	l.foldNoted()
	for _, k := range l.world.History.keys {
		if len(k.Instances) == 0 {
			continue
		}
		e := l.world.Desired.Lookup(k.Key)
		if e == nil || e.Object == nil {
			continue
		}
		for i := range k.Instances {
			if r := &k.Instances[i]; r.Hash == e.Hash && r.Entry != e {
				l.fold(Introduced{Key: k.Key, ID: r.ID, Entry: e})
			}
		}
	}
}

// WentWell says that a run has gone well, Introduced which manifest it has.
type (
	WentWell struct {
		Key spec.Key
		ID  spec.Instance
	}
	Introduced struct {
		Key   spec.Key
		ID    spec.Instance
		Entry *spec.Entry
	}
)

// EventKey and its like name the key that an event is about.
func (e WentWell) EventKey() spec.Key   { return e.Key }
func (e Introduced) EventKey() spec.Key { return e.Key }

func (e WentWell) fold(k *KeyHistory) {
	if r := k.instance(e.ID); r != nil {
		r.Good = true
	}
}

func (e Introduced) fold(k *KeyHistory) {
	if r := k.instance(e.ID); r != nil {
		r.Entry = e.Entry
	}
}
