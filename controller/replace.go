package controller

import (
	"fmt"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// drainTime passes between the moment in which a new instance is ready and the
// stop of the former one: clients that follow the endpoint move in it.
const drainTime = time.Second

// isBlueGreen says that an accepted entry replaces beside what runs.
func isBlueGreen(e *spec.Entry) bool {
	return e != nil && e.Object != nil && e.Object.Spec.Strategy.Type == spec.BlueGreen
}

// replaceOutdated replaces instances that run another program than the wanted
// one, or that are to be restarted, one at a time, once the program is known to be
// there: row 11. It says whether the key is done with for now.
func (p *planner) replaceOutdated(s *situation, live []*observe.Instance, wanted int, b *beside) bool {
	if b != nil {
		return p.replaceBeside(s, b, wanted)
	}
	next := p.nextToReplace(s, live)
	if next == nil {
		return false
	}
	if p.waitsForDependency(s) || !p.resolved(s) {
		return true
	}
	if len(s.instances) > len(live) || len(s.history.Starting) > 0 || len(live) < wanted {
		return false // one at a time: the last one has not been replaced yet
	}
	if in := p.unready(s, live); in != nil && p.mayBeOfUse(s, next) {
		why := p.w.healthOf(s.entry, s.history, in).why
		p.why(s.key, Reason{Reason: s.replaceReason(next), Detail: notReadyYet + cause(why)})
		return false
	}
	if p.unpublished(s) {
		return true
	}
	p.stopInstance(s, next, s.replaceReason(next))
	return true
}

// nextToReplace gives the oldest outdated instance that cannot be used, else the
// oldest of those that can; nil if none is.
func (p *planner) nextToReplace(s *situation, live []*observe.Instance) *observe.Instance {
	var unusable, usable *observe.Instance
	for _, in := range live {
		which := &usable
		if !s.outdated(in) {
			continue
		}
		if !p.mayBeOfUse(s, in) {
			which = &unusable
		}
		if *which == nil || compareAge(in, *which) < 0 {
			*which = in
		}
	}
	if unusable != nil {
		return unusable
	}
	return usable
}

// mayBeOfUse says that an instance is ready, or that nobody has looked yet.
func (p *planner) mayBeOfUse(s *situation, in *observe.Instance) bool {
	return p.w.ready(s.entry, s.history, in) || p.w.readinessUnknown(s.entry, s.history, in)
}

// unready gives an instance that is not outdated and cannot be used, or nil.
// While there is one, no replica that can be is stopped to be started anew.
func (p *planner) unready(s *situation, live []*observe.Instance) *observe.Instance {
	for _, in := range live {
		if !s.outdated(in) && !p.w.ready(s.entry, s.history, in) {
			return in
		}
	}
	return nil
}

const notReadyYet = "the new one is not ready yet: "

// resolved says that the wanted program is there. Where it is not known, it is
// looked at; where it is not there, nothing is done for it.
func (p *planner) resolved(s *situation) bool {
	h := s.history
	if h != nil && h.Resolving {
		p.why(s.key, Reason{Reason: spec.ReasonChecking, Detail: checkingProgram})
		return false
	}
	if h == nil || h.Resolved == nil || h.Resolved.Hash != s.entry.Hash || p.resolveIsOld(h.Resolved) {
		p.act(Action{Type: Resolve, Key: s.key, Entry: s.entry, Reason: s.replacing()})
		p.why(s.key, Reason{Reason: spec.ReasonChecking, Detail: checkingProgram})
		return false
	}
	if r := h.Resolved; r.Message != "" {
		p.why(s.key, Reason{Reason: r.Reason, Detail: r.Message + "; the former one runs on"})
		p.wake(r.At.Add(resolveAgain)) // no time that the former one has
		return false
	}
	return true
}

const checkingProgram = "checking that the program can be started"

func (p *planner) resolveIsOld(r *Resolved) bool {
	return r.Message != "" && !p.w.Now.Before(r.At.Add(resolveAgain))
}

// beside is a BlueGreen that is not at its end: some of what is live, and not
// being stopped, is outdated. Lists are oldest first, but those of old that can be
// used come before the others.
type beside struct {
	old     []*observe.Instance
	ready   []*observe.Instance // not outdated
	pending []*observe.Instance // likewise, and not ready
	// givenUp says that the wanted program is not tried beside the former one any
	// more; until is when it would be, if it is being tried.
	givenUp bool
	until   time.Time
}

// besides gives the BlueGreen of a key, or nil where there is none to do.
func (p *planner) besides(s *situation, live []*observe.Instance, wanted int) *beside {
	if wanted == 0 || !isBlueGreen(s.entry) || s.entry.Gone() || !slices.ContainsFunc(live, s.outdated) {
		return nil
	}
	b := &beside{}
	var unusable []*observe.Instance
	for _, in := range live {
		ready := p.w.ready(s.entry, s.history, in)
		switch {
		case s.outdated(in) && ready:
			b.old = append(b.old, in)
		case s.outdated(in):
			unusable = append(unusable, in)
		case ready:
			b.ready = append(b.ready, in)
		default:
			b.pending = append(b.pending, in)
		}
	}
	b.old = append(b.old, unusable...)
	b.givenUp = p.givesUp(s, b, wanted)
	return b
}

// stopBeside stops what is too many beside what a BlueGreen needs, and gives the
// rest. As many stay as are wanted, those that can be used first, and one more:
// the new one, until it is ready, or then the one that it replaces.
func (p *planner) stopBeside(s *situation, b *beside, wanted int) (kept []*observe.Instance) {
	order := slices.Concat(b.ready, b.old, b.pending)
	n := min(wanted, len(order))
	kept = order[:n:n]
	if one := b.oneMore(s, kept, order[n:]); one != nil {
		kept = append(kept, one)
	}
	for _, in := range order[n:] {
		switch {
		case slices.Contains(kept, in):
		case s.outdated(in):
			p.stopInstance(s, in, s.replaceReason(in))
		case b.givenUp && slices.Contains(b.pending, in):
			p.stopInstance(s, in, spec.ReasonDeadlineExceeded)
		default:
			p.stopInstance(s, in, spec.ReasonScaledDown)
		}
	}
	goes := func(in *observe.Instance) bool { return !slices.Contains(kept, in) }
	b.old, b.ready, b.pending = slices.DeleteFunc(b.old, goes), slices.DeleteFunc(b.ready, goes), slices.DeleteFunc(b.pending, goes)
	return kept
}

// oneMore finds the one of the rest that stays beside as many as are wanted.
func (b *beside) oneMore(s *situation, kept, rest []*observe.Instance) *observe.Instance {
	for _, in := range rest {
		if !b.givenUp && slices.Contains(b.pending, in) && slices.ContainsFunc(kept, s.outdated) {
			return in
		}
	}
	for _, in := range rest {
		if s.outdated(in) && len(b.ready) > 0 {
			return in
		}
	}
	return nil
}

// replaceBeside takes the next step of a BlueGreen: one new instance is started
// beside those that run; once it is ready, a former one stops.
func (p *planner) replaceBeside(s *situation, b *beside, wanted int) bool {
	if len(b.old) > 0 && len(b.ready) > 0 && len(b.ready)+len(b.old) > wanted {
		p.retire(s, b)
		return true
	}
	starting := 0
	if s.history != nil {
		starting = len(s.history.Starting)
	}
	switch {
	case b.givenUp:
		if r := s.history.replacement(s.entry.Hash); r.isGivenUp() { // else by this plan
			p.why(s.key, Reason{Reason: spec.ReasonDeadlineExceeded, Detail: r.GivenUp + "; the former one runs on"})
		}
		return false
	case len(b.pending) > 0:
		p.notSucceeding(s, b)
		why := p.w.healthOf(s.entry, s.history, b.pending[0]).why
		p.why(s.key, Reason{Reason: s.replacing(), Detail: notReadyYet + cause(why), Until: b.until})
		return false
	case starting > 0, len(b.old)+len(b.ready) != wanted, len(s.instances) != wanted:
		return false // what is missing, or just ending, comes first
	case !p.resolved(s):
		return true
	}
	n := len(p.plan.Actions)
	p.startMissing(s, wanted+1)
	for i := range p.plan.Actions[n:] {
		p.plan.Actions[n+i].Beside = true
	}
	return true
}

// notSucceeding notes that a successor is not ready any more: when it is again,
// its clients need their time once more.
func (p *planner) notSucceeding(s *situation, b *beside) {
	h := s.history
	if h != nil && slices.ContainsFunc(b.pending, func(in *observe.Instance) bool { return in.ID == h.Successor.ID }) {
		p.act(Action{Type: Note, Key: s.key, Reason: spec.ReasonProbeFailed, Event: Succeeds{Key: s.key}})
	}
}

// cause is what a reason says to a person.
func cause(r Reason) string {
	if r.Detail != "" {
		return r.Detail
	}
	return string(r.Reason)
}

// retire stops one of the former instances: one that cannot be used, else the
// oldest, as soon as its clients have had time to move to the newest one that is
// ready.
func (p *planner) retire(s *situation, b *beside) {
	old, successor := b.old[len(b.old)-1], b.ready[len(b.ready)-1]
	if p.w.ready(s.entry, s.history, old) {
		old = b.old[0]
	}
	if ok, why := p.mayRetire(s, old, successor); !ok {
		p.why(s.key, why)
		return
	}
	p.stopInstance(s, old, s.replaceReason(old))
}

// mayRetire says whether a former instance may be stopped now that its successor
// is ready: not before its clients have had time to move. It is the place for
// whatever else has to come first. That the former one is not ready is no
// evidence that it has no clients: it may not have what the new probe asks for.
func (p *planner) mayRetire(s *situation, old, successor *observe.Instance) (bool, Reason) {
	if agent, is := p.published(s.key, old); is {
		why := fmt.Sprintf("the new one is ready; %v is being told where it is", agent)
		if known := p.w.History.Of(agent).publication(); known != nil && known.Failures > 0 {
			why = fmt.Sprintf("the new one is ready, and %v cannot be told where it is: %s", agent, known.Message)
		}
		return false, Reason{Reason: spec.ReasonDraining, Detail: why}
	}
	since := p.w.Now
	if h := s.history; h != nil && h.Successor.ID == successor.ID {
		since = h.Successor.Since
	} else {
		p.act(Action{Type: Note, Key: s.key, Reason: spec.ReasonDraining, Event: Succeeds{s.key, successor.ID, since}})
	}
	if until := since.Add(drainTime); p.w.Now.Before(until) {
		return false, Reason{Reason: spec.ReasonDraining, Detail: "the new one is ready; the former one stops when its clients have had time to move", Until: until}
	}
	return true, Reason{}
}
