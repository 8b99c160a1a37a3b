package controller

import (
	"cmp"
	"slices"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// decide takes the rows of one key from the top. A row that answers ends it; a
// row about single instances lets the rows below see the others.
//
// Row 2 (other owners) needs no code: what belongs to another owner is in no
// Instance. Row 4 (broken manifest) is what Entry.Object is: the last good one.
func (p *planner) decide(s situation) {
	if p.asWanted(&s) {
		return
	}
	s.dropSpared()
	wanted, proven := p.wanted(&s)
	if !proven {
		return // row 3
	}
	if p.w.Shutdown != NotShuttingDown {
		p.shutDown(&s) // row 5
		return
	}
	p.forgetSuspension(&s)
	p.reconsider(&s)
	p.publish(&s)
	live := p.finishStops(&s)                // rows 6, 7
	live = p.stopUnhealthy(&s, live, wanted) // liveness and startup probes
	b := p.besides(&s, live, wanted)
	live = p.stopSurplus(&s, live, wanted, b) // rows 8, 9
	if b == nil {
		live = p.restartDependent(&s, live, wanted)
	}
	p.watchAll(&s, live)
	p.stopRemains(&s)                           // row 10
	if p.replaceOutdated(&s, live, wanted, b) { // row 11
		return
	}
	// Row 12: what is live and has the right hash is kept, whoever spawned it.
	p.startMissing(&s, wanted) // rows 13 to 17
}

// asWanted says that a key needs no thought: the common case, told apart by
// comparisons alone.
func (p *planner) asWanted(s *situation) bool {
	e := s.entry
	if e == nil || e.Object == nil || e.Gone() || p.w.Shutdown != NotShuttingDown {
		return false
	}
	if h := s.history; h != nil && (len(h.Starting)+len(h.Stops) > 0 || h.Failure != nil || h.Replacement != nil) {
		return false
	}
	if len(s.instances) != replicas(e, s.history) {
		return false
	}
	for _, in := range s.instances {
		if !in.Live() || s.outdated(in) || isProbed(&e.Object.Spec) && p.w.healthOf(e, s.history, in).failed != "" {
			return false
		}
		if len(e.Object.Spec.DependsOn) > 0 && p.renewed(s, in) != (spec.Key{}) {
			return false
		}
	}
	for _, in := range s.instances {
		p.watch(s, in)
	}
	p.publish(s)
	return true
}

// replicas is how many main processes an accepted entry asks for, unless somebody
// has suspended it.
func replicas(e *spec.Entry, h *KeyHistory) int {
	if e.Object.Spec.Suspend || h.suspended() {
		return 0
	}
	return int(*e.Object.Spec.Replicas)
}

// wanted is how many main processes there should be. It is not proven where a
// key is missing from the manifests and could still be in one of them, or has
// one that never was accepted (row 3).
func (p *planner) wanted(s *situation) (n int, proven bool) {
	e := s.entry
	switch {
	case e == nil || e.Gone():
		proven, why, until := p.w.Desired.Absence(s.key, p.w.Now)
		if !proven && len(s.instances) > 0 {
			reason := spec.ReasonAbsenceUnproven
			if !until.IsZero() {
				reason = spec.ReasonDeletionHeld
			}
			p.why(s.key, Reason{Reason: reason, Detail: why, Until: until})
		} else if !proven && (s.history.publication() != nil || s.history.suspended()) {
			p.wake(until)
		}
		return 0, proven || p.w.Shutdown != NotShuttingDown
	case e.Object == nil:
		if p.w.Shutdown != NotShuttingDown {
			return 0, true
		}
		p.why(s.key, Reason{Reason: spec.ReasonInvalid, Detail: findings(e.Problems)})
		return 0, false
	}
	return replicas(e, s.history), true
}

// shutDown stops what dies with the controller, or everything where that was asked
// for, and leaves the rest: row 5.
func (p *planner) shutDown(s *situation) {
	reason := spec.ReasonShutdown
	if p.w.Reap != nil {
		reason = spec.ReasonReaped
	}
	for _, in := range s.instances {
		if p.w.stays(in) {
			continue
		}
		if p.w.Shutdown == ShutdownNow {
			p.killInstance(s, in, reason)
			continue
		}
		p.stopInstance(s, in, reason)
	}
	if s.history != nil && len(s.history.Starting) > 0 {
		p.why(s.key, Reason{Reason: spec.ReasonShutdown, Detail: "a start is still under way"})
	}
}

// finishStops carries on with stops that are under way and gives the live
// instances that are not being stopped: rows 6 and 7.
func (p *planner) finishStops(s *situation) (live []*observe.Instance) {
	for _, in := range s.instances {
		if st := s.history.stop(in.ID); st != nil {
			p.stopInstance(s, in, st.Reason)
		} else if in.Live() {
			live = append(live, in)
		}
	}
	return live
}

// stopSurplus stops what is not wanted (row 8) and what is too many (rows 8 and
// 9): those with another hash first, then the newest. It gives what stays.
func (p *planner) stopSurplus(s *situation, live []*observe.Instance, wanted int, b *beside) []*observe.Instance {
	if b != nil {
		return p.stopBeside(s, b, wanted)
	}
	surplus := len(live) - wanted
	if surplus <= 0 {
		return live
	}
	reason := spec.ReasonScaledDown
	switch {
	case s.entry == nil || s.entry.Gone():
		reason = spec.ReasonNotWanted
	case s.suspension().Reason != "":
		reason = s.suspension().Reason
	}
	order := slices.Clone(live)
	slices.SortStableFunc(order, func(a, b *observe.Instance) int {
		if c := cmp.Compare(p.rank(s, a), p.rank(s, b)); c != 0 {
			return c
		}
		return -compareAge(a, b)
	})
	for _, in := range order[:surplus] {
		p.stopInstance(s, in, reason)
	}
	return order[surplus:]
}

// rank puts instances first that are to be replaced, or that nothing asks for.
func (p *planner) rank(s *situation, in *observe.Instance) int {
	if s.entry != nil && s.entry.Hash == in.Hash && !s.history.renews(in.ID) {
		return 1
	}
	return 0
}

// compareAge orders instances by age, oldest first.
func compareAge(a, b *observe.Instance) int {
	if c := cmp.Compare(a.LastMain.Start, b.LastMain.Start); c != 0 {
		return c
	}
	return cmp.Compare(a.ID, b.ID)
}

// stopRemains ends what an instance left behind when its main process ended by
// itself: row 10. Whether anything is left has to be looked at first.
func (p *planner) stopRemains(s *situation) {
	for _, in := range s.instances {
		if in.Live() || s.history.stop(in.ID) != nil {
			continue
		}
		if !p.looked(in) {
			p.why(s.key, Reason{Reason: spec.ReasonChecking, Detail: "looking for what the ended process left behind"})
			continue
		}
		// A process that cannot be told may be the main one: then nothing is gone.
		if len(in.Members) > 0 && len(in.Doubtful) == 0 {
			p.stopInstance(s, in, spec.ReasonMainGone)
		}
	}
}

// looked says that a scan began after the end of the main process was noticed;
// until there was one, it asks for it.
func (p *planner) looked(in *observe.Instance) bool {
	if in.EndedAt.Before(p.w.Observed.Began) {
		return true
	}
	p.look = true
	return false
}

func (s *situation) entryHash() spec.Hash {
	if s.entry == nil {
		return ""
	}
	return s.entry.Hash
}
