package controller

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// graph gives the dependencies of this world. Few plans need it.
func (p *planner) graph() *dependencyGraph {
	if p.dependencies == nil {
		p.dependencies = newDependencyGraph(p.w.dependsOn)
	}
	return p.dependencies
}

// dependsOn gives what a workload depends on: as its manifest says, else as was
// noted while there was one.
func (w *World) dependsOn(k spec.Key) []spec.Key {
	if e := w.Desired.Lookup(k); e != nil && e.Object != nil {
		return dependenciesOf(e)
	}
	if h := w.History.Of(k); h != nil {
		return h.DependsOn
	}
	return nil
}

// dependenciesOf gives what an accepted entry depends on; nil for nothing.
func dependenciesOf(e *spec.Entry) (keys []spec.Key) {
	for _, d := range e.Object.Spec.Dependencies() {
		keys = append(keys, d.Key())
	}
	return keys
}

// waitsForDependency says that something that the workload depends on is not
// there: it is not started, and what runs of it is not replaced. Nothing is
// stopped for it.
func (p *planner) waitsForDependency(s *situation) bool {
	r := p.lacks(s)
	if r.Reason == "" {
		return false
	}
	p.why(s.key, r)
	return true
}

// lacks gives the reason why the dependencies of a workload are not satisfied
// now, or none. What needs a person is named before what takes its time.
func (p *planner) lacks(s *situation) (worst Reason) {
	for _, d := range s.entry.Object.Spec.Dependencies() {
		r := p.w.unsatisfied(&d)
		switch {
		case r.Reason == "":
		case r.Reason == spec.ReasonDependencyMissing, r.Reason == spec.ReasonDependencyEndless:
			return found(s.entry, r)
		case worst.Reason == spec.ReasonDependencyCycle:
		case p.graph().circular(s.key, d.Key()):
			worst = found(s.entry, Reason{Reason: spec.ReasonDependencyCycle, Detail: fmt.Sprintf("it depends on %v, which depends on it", d.Key())})
		case worst.Reason == "":
			worst = r
		}
	}
	return worst
}

// found tells of a reason in the words of the source, which has looked at the
// manifests at leisure: it names the path and what may be meant.
func found(e *spec.Entry, r Reason) Reason {
	for i := range e.Order {
		if e.Order[i].Reason == r.Reason {
			r.Detail = e.Order[i].Message
			break
		}
	}
	return r
}

// unsatisfied says why the condition of a dependency is not true now, or gives
// no reason. It is a level: what was true of a former instance counts for
// nothing.
func (w *World) unsatisfied(d *spec.Dependency) Reason {
	k := d.Key()
	condition := cmp.Or(d.Condition, spec.DependencyReady)
	wait := func(detail string) Reason {
		return Reason{Reason: spec.ReasonDependencyWait, Detail: fmt.Sprintf("waiting for %v to be %s: %s", k, condition, detail)}
	}
	e, h := w.Desired.Lookup(k), w.History.Of(k)
	if e == nil || e.Gone() {
		proven, why, until := w.Desired.Absence(k, w.Now)
		if proven {
			return Reason{Reason: spec.ReasonDependencyMissing, Detail: fmt.Sprintf("depends on %v, and no manifest names it", k)}
		}
		r := wait(why)
		r.Until = until
		return r
	}
	switch {
	case e.Object == nil:
		return wait("its manifest is not valid")
	case condition == spec.DependencyCompleted && e.Object.Spec.RestartPolicy == spec.RestartAlways:
		return Reason{Reason: spec.ReasonDependencyEndless, Detail: fmt.Sprintf("%v never completes: its restartPolicy is %s", k, spec.RestartAlways)}
	case condition == spec.DependencyCompleted && !hasCompleted(e, h):
		return wait(w.incomplete(e, h))
	case condition != spec.DependencyReady && hasCompleted(e, h):
		return Reason{}
	case replicas(e, h) == 0:
		return wait("it is suspended")
	}
	detail := ""
	for _, in := range w.Observed.InstancesOf(k) {
		if !w.stands(e, h, in) {
			continue
		}
		hl := w.healthOf(e, h, in)
		if condition == spec.DependencyStarted || hl.ready {
			return Reason{}
		}
		detail = hl.why.Detail
	}
	return wait(cmp.Or(detail, w.down(e, h)))
}

// stands says that an instance can be relied upon: it is live, nobody stops it,
// and it runs the program that its manifest asks for, or a former one that the
// wanted one cannot replace, or not before it is ready itself.
func (w *World) stands(e *spec.Entry, h *KeyHistory, in *observe.Instance) bool {
	if !in.Live() || h.stop(in.ID) != nil {
		return false
	}
	return !h.outdated(e, in) || isBlueGreen(e) || h != nil && h.Resolved != nil && h.Resolved.Hash == e.Hash && h.Resolved.Message != ""
}

// hasCompleted says that a one-shot has done its work, as the manifest now has
// it, with success.
func hasCompleted(e *spec.Entry, h *KeyHistory) bool {
	sp := &e.Object.Spec
	return h != nil && h.Hash == e.Hash && sp.RestartPolicy != spec.RestartAlways && h.Succeeded >= max(1, int(*sp.Replicas))
}

// incomplete says why a workload has not completed.
func (w *World) incomplete(e *spec.Entry, h *KeyHistory) string {
	s := situation{key: e.Key, entry: e, history: h}
	switch {
	case h != nil && finished(&s) >= max(1, replicas(e, h)):
		return "it has failed: " + lastCrash(h)
	case len(w.Observed.InstancesOf(e.Key)) > 0:
		return "it still runs"
	}
	return w.down(e, h)
}

// down says why nothing of a workload runs that could be relied upon.
func (w *World) down(e *spec.Entry, h *KeyHistory) string {
	for _, in := range w.Observed.InstancesOf(e.Key) {
		switch {
		case h.stop(in.ID) != nil:
			return "it is being stopped"
		case in.Live():
			return "it is about to be replaced"
		}
	}
	switch {
	case h == nil:
		return "it does not run yet"
	case len(h.Starting) > 0:
		return "it is being started"
	case h.Failure != nil:
		return "it cannot be started: " + h.Failure.Message
	case h.Last != nil && h.Last.Reason != spec.ReasonStopped:
		return "it does not run: " + ended(h.Last)
	}
	return "it does not run yet"
}

// restartDependent stops an instance that is older than what it depends on where
// the manifest asks for that, one at a time, and gives the others. While a
// dependency is down nothing is stopped, and neither is what could not be
// started again at once.
func (p *planner) restartDependent(s *situation, live []*observe.Instance, wanted int) []*observe.Instance {
	if s.entry == nil || s.entry.Object == nil {
		return live
	}
	for i, in := range live { // the oldest first
		on := p.renewed(s, in)
		if on == (spec.Key{}) {
			continue
		}
		under := len(s.instances) > len(live) || len(live) < wanted || s.history != nil && len(s.history.Starting) > 0
		// the last one that was started anew, and cannot be used yet
		settling := func(in *observe.Instance) bool {
			return p.renewed(s, in) == spec.Key{} && !p.w.ready(s.entry, s.history, in)
		}
		waits := p.mayBeOfUse(s, in) && slices.ContainsFunc(live, settling)
		if under || waits || p.lacks(s).Reason != "" {
			return live
		}
		p.stopInstance(s, in, spec.ReasonDependencyRenewed)
		p.why(s.key, Reason{Reason: spec.ReasonDependencyRenewed, Detail: fmt.Sprintf("%v has been started anew", on)})
		return slices.Concat(live[:i], live[i+1:])
	}
	return live
}

// renewed gives a dependency all of whose instances that are ready have been
// started after an instance of the dependent, where that is a reason to start it
// anew; else the zero key. Within a circle it is none: there each would be a
// reason for the other.
func (p *planner) renewed(s *situation, in *observe.Instance) spec.Key {
	deps := s.entry.Object.Spec.DependsOn // what is implied ignores it
	for i := range deps {
		d := &deps[i]
		if d.OnRestart != spec.OnRestartRestart || d.Condition == spec.DependencyCompleted || s.outdated(in) {
			continue
		}
		if p.isNewer(d.Key(), in) && !p.graph().circular(s.key, d.Key()) {
			return d.Key()
		}
	}
	return spec.Key{}
}

// isNewer says that a workload has instances that are ready and that each of
// them was started after the given one.
func (p *planner) isNewer(k spec.Key, than *observe.Instance) bool {
	instances := p.w.Observed.InstancesOf(k)
	if !slices.ContainsFunc(instances, func(in *observe.Instance) bool { return in.LastMain.Start > than.LastMain.Start }) {
		return false // as nearly always
	}
	e, h := p.w.Desired.Lookup(k), p.w.History.Of(k)
	newer := false
	for _, in := range instances {
		if p.w.ready(e, h, in) {
			if in.LastMain.Start <= than.LastMain.Start {
				return false
			}
			newer = true
		}
	}
	return newer
}
