package controller

import (
	"fmt"
	"slices"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// holdStops keeps what others depend on from being stopped before they are
// gone: those of them that are being stopped, or are to be in this plan. What
// stays, a Keep workload at shutdown or one that is still wanted, is not waited
// for. Within a circle nobody waits for anybody, and whoever clears up or is told
// to hurry waits for nothing.
//
// It works on the finished plan, since which stops there are is known only then.
func (p *planner) holdStops() {
	if p.w.Reap != nil || p.w.Shutdown == ShutdownNow || !slices.ContainsFunc(p.plan.Actions, p.canWait) {
		return
	}
	dependents := p.leavingDependents()
	if len(dependents) == 0 {
		return
	}
	p.plan.Actions = slices.DeleteFunc(p.plan.Actions, func(a Action) bool {
		if !p.canWait(a) {
			return false
		}
		for _, k := range dependents[a.Key] {
			if !p.graph().circular(k, a.Key) {
				p.why(a.Key, Reason{Reason: spec.ReasonDependentsFirst, Detail: fmt.Sprintf("it is to be stopped when %v, which depends on it, is gone", k)})
				return true
			}
		}
		return false
	})
}

// canWait says that an action begins a stop that somebody asked for, with its hook
// or with its signal, and that is no part of a replacement.
func (p *planner) canWait(a Action) bool {
	if a.Type != Stop && a.Type != PreStop || p.w.History.Of(a.Key).stop(a.Instance.ID) != nil {
		return false
	}
	switch a.Reason {
	case spec.ReasonShutdown, spec.ReasonNotWanted, spec.ReasonSuspended, spec.ReasonSuspendedNow, spec.ReasonScaledDown:
		return a.Key != spec.Key{}
	}
	return false
}

// leavingDependents gives for each workload those that depend on it and are on
// their way out.
func (p *planner) leavingDependents() map[spec.Key][]spec.Key {
	stopped := map[spec.Instance]bool{}
	for _, a := range p.plan.Actions {
		if a.stops() {
			stopped[a.Instance.ID] = true
		}
	}
	dependents := map[spec.Key][]spec.Key{}
	add := func(k spec.Key) {
		for _, d := range p.w.dependsOn(k) {
			if !slices.Contains(dependents[d], k) {
				dependents[d] = append(dependents[d], k)
			}
		}
	}
	for s := range situations(p.w) {
		switch {
		case p.w.Shutdown != NotShuttingDown && s.history != nil && len(s.history.Starting) > 0:
			add(s.key) // it will have to be stopped
		case slices.ContainsFunc(s.instances, func(in *observe.Instance) bool {
			return p.leaves(&s, in) || stopped[in.ID] && !p.refuses(&s, in)
		}):
			add(s.key)
		}
	}
	return dependents
}

// leaves says that an instance is being stopped, and that its end can be waited
// for, or that it will be soon, if its manifest does not come back.
func (p *planner) leaves(s *situation, in *observe.Instance) bool {
	if s.history.stop(in.ID) != nil {
		return !p.refuses(s, in) && !spared(s.stopPolicy(in), in)
	}
	if p.w.Shutdown != NotShuttingDown || !in.Live() || s.entry != nil && !s.entry.Gone() {
		return false
	}
	_, _, until := p.w.Desired.Absence(s.key, p.w.Now)
	return !until.IsZero()
}

// refusals is how many rounds of SIGKILL an instance gets, in some three seconds,
// before its end is no longer waited for by others.
const refusals = 6

// refuses says that an instance cannot be ended: it has been killed again and
// again, or what is left of it cannot be told.
func (p *planner) refuses(s *situation, in *observe.Instance) bool {
	if st := s.history.stop(in.ID); st != nil && st.Kills >= refusals {
		return true
	}
	return !in.Live() && len(in.Members) == 0 && len(in.Doubtful) > 0
}

// stopDepth is how many workloads have to be stopped one after the other, at
// most.
func (w *World) stopDepth() int {
	runs := func(k spec.Key) bool {
		h := w.History.Of(k)
		return len(w.Observed.InstancesOf(k)) > 0 || h != nil && len(h.Starting) > 0
	}
	g := newDependencyGraph(func(k spec.Key) []spec.Key {
		return slices.DeleteFunc(slices.Clone(w.dependsOn(k)), func(d spec.Key) bool { return !runs(d) })
	})
	depth := 1
	for s := range situations(w) {
		if runs(s.key) {
			depth = max(depth, g.node(s.key).circle.depth)
		}
	}
	return depth
}
