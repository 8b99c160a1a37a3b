package controller

import (
	"cmp"
	"fmt"
	"slices"
	"time"

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
	live := p.finishStops(&s)                // rows 6, 7
	live = p.stopSurplus(&s, live, wanted)   // rows 8, 9
	p.stopRemains(&s)                        // row 10
	if p.replaceOutdated(&s, live, wanted) { // row 11
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
	if h := s.history; h != nil && (len(h.Starting)+len(h.Stops) > 0 || h.Failure != nil) {
		return false
	}
	if len(s.instances) != replicas(e) {
		return false
	}
	for _, in := range s.instances {
		if !in.Live() || in.Hash != e.Hash {
			return false
		}
		p.watchPorts(s.key, in, e)
	}
	return true
}

// replicas is how many main processes an accepted entry asks for.
func replicas(e *spec.Entry) int {
	if e.Object.Spec.Suspend {
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
		}
		return 0, proven || p.w.Shutdown != NotShuttingDown
	case e.Object == nil:
		if p.w.Shutdown != NotShuttingDown {
			return 0, true
		}
		p.why(s.key, Reason{Reason: spec.ReasonInvalid})
		return 0, false
	}
	return replicas(e), true
}

// shutDown stops what dies with the controller and leaves the rest: row 5.
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
func (p *planner) stopSurplus(s *situation, live []*observe.Instance, wanted int) []*observe.Instance {
	surplus := len(live) - wanted
	if surplus <= 0 {
		return live
	}
	reason := spec.ReasonScaledDown
	switch {
	case s.entry == nil || s.entry.Gone():
		reason = spec.ReasonNotWanted
	case s.entry.Object.Spec.Suspend:
		reason = spec.ReasonSuspended
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

// rank puts instances that run another program than the wanted one first.
func (p *planner) rank(s *situation, in *observe.Instance) int {
	if s.entry != nil && s.entry.Hash == in.Hash {
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

// replaceOutdated stops instances that run another program than the wanted one,
// one at a time, once the new program is known to be there: row 11. It says
// whether the key is done with for now.
func (p *planner) replaceOutdated(s *situation, live []*observe.Instance, wanted int) bool {
	var outdated *observe.Instance
	for _, in := range live {
		if in.Hash != s.entryHash() && (outdated == nil || compareAge(in, outdated) < 0) {
			outdated = in
		}
	}
	if outdated == nil || s.entry == nil || s.entry.Object == nil {
		return false
	}
	h := s.history
	if h != nil && h.Resolving {
		p.why(s.key, Reason{Reason: spec.ReasonChecking, Detail: "checking that the new program can be started"})
		return true
	}
	if h == nil || h.Resolved == nil || h.Resolved.Hash != s.entry.Hash || p.resolveIsOld(h.Resolved) {
		p.act(Action{Type: Resolve, Key: s.key, Entry: s.entry, Reason: spec.ReasonSpecChanged})
		p.why(s.key, Reason{Reason: spec.ReasonChecking, Detail: "checking that the new program can be started"})
		return true
	}
	if r := h.Resolved; r.Message != "" {
		p.why(s.key, Reason{Reason: r.Reason, Detail: r.Message + "; the former one runs on", Until: r.At.Add(resolveAgain)})
		return true
	}
	if len(s.instances) > len(live) || len(h.Starting) > 0 || len(live) < wanted {
		return false // one at a time: the last one has not been replaced yet
	}
	p.stopInstance(s, outdated, spec.ReasonSpecChanged)
	return true
}

func (p *planner) resolveIsOld(r *Resolved) bool {
	return r.Message != "" && !p.w.Now.Before(r.At.Add(resolveAgain))
}

func (s *situation) entryHash() spec.Hash {
	if s.entry == nil {
		return ""
	}
	return s.entry.Hash
}

// watchPorts has the ports of a live instance looked at until it listens on
// each of them.
func (p *planner) watchPorts(k spec.Key, in *observe.Instance, e *spec.Entry) {
	if len(e.Object.Spec.Ports) == 0 {
		return
	}
	for _, port := range in.Ports {
		l := p.w.Observed.Listeners[port.Port]
		if held(l, in) {
			continue
		}
		if l.Listening && p.w.Observed.Began.Before(l.At) {
			p.look = true // by a member, perhaps, that is newer than the last scan
		}
		p.listener(port.Port, p.w.Now.Sub(in.StartedAt))
	}
}

// held says that a port is listened on by a process of the instance.
func held(l observe.Listener, in *observe.Instance) bool {
	if !l.Listening {
		return false
	}
	for _, id := range l.Holders {
		if in.Main != nil && in.Main.Ident == id {
			return true
		}
		if slices.ContainsFunc(in.Members, func(m *observe.Process) bool { return m.Ident == id }) {
			return true
		}
	}
	return false
}

// stopPolicy says how an instance is stopped: as the stop that is under way
// began, else as its manifest says, else as was noted when it was started, else
// by the defaults.
func (s *situation) stopPolicy(in *observe.Instance) StopPolicy {
	if st := s.history.stop(in.ID); st != nil {
		return st.Policy
	}
	if s.entry != nil && s.entry.Object != nil {
		return policyOf(&s.entry.Object.Spec)
	}
	if r := s.history.instance(in.ID); r != nil && r.Policy != (StopPolicy{}) {
		return r.Policy
	}
	if s.history != nil && s.history.Policy != (StopPolicy{}) {
		return s.history.Policy
	}
	return StopPolicy{Signal: sigTerm, Grace: defaultGrace, Mode: spec.KillTree}
}

func policyOf(sp *spec.Spec) StopPolicy {
	signal, ok := spec.SignalNumber(sp.StopSignal)
	if !ok {
		signal = sigTerm
	}
	return StopPolicy{signal, time.Duration(*sp.TerminationGracePeriodSeconds) * time.Second, sp.KillMode}
}

const (
	defaultGrace = 10 * time.Second
	sigTerm      = 15
	sigKill      = 9
)

// stopInstance takes the next step of a stop: the stop signal, the wait for the
// grace period, SIGKILL, again SIGKILL for what is left.
func (p *planner) stopInstance(s *situation, in *observe.Instance, reason spec.Reason) {
	if p.settles(s, in, reason) {
		return
	}
	st := s.history.stop(in.ID)
	policy := p.stopPolicy(s, in)
	if st == nil {
		p.act(Action{Type: Stop, Key: s.key, Instance: in, Signal: policy.Signal, Policy: policy, Reason: reason})
		p.why(s.key, Reason{Reason: reason})
		return
	}
	over := st.At.Add(policy.Grace)
	if st.Kills > 0 || !p.w.Now.Before(over) {
		p.killInstance(s, in, st.Reason)
		return
	}
	p.why(s.key, Reason{Reason: st.Reason, Detail: "waiting for it to end before it is killed", Until: over})
	p.follow(in, st)
	if late := unreached(in, st); late != nil && !st.Busy {
		p.act(Action{Type: Stop, Key: s.key, Instance: late, Signal: policy.Signal, Policy: policy, Reason: st.Reason})
	}
}

// follow has the members of an instance that is being stopped looked at: once
// after the signal was sent, since some may be newer than the last scan, and
// when the main process has ended again and again until they have.
func (p *planner) follow(in *observe.Instance, st *StopState) {
	began := p.w.Observed.Began
	next := began.Add(stopInterval(began.Sub(st.At)))
	switch {
	case !began.After(st.At), !in.Live() && !p.w.Now.Before(next):
		p.look = true
	case !in.Live():
		p.wake(next)
	}
}

// unreached is the part of an instance that the stop signal has not reached:
// members outside the group of the main process that were not known when it was
// sent. What is in the group has got it with the group.
func unreached(in *observe.Instance, st *StopState) *observe.Instance {
	var late []*observe.Process
	for _, m := range in.Members {
		if m.PGID != in.LastMain.PID && !st.Policy.Spares(in, m) && !slices.Contains(st.Reached, m.Ident) {
			late = append(late, m)
		}
	}
	if late == nil {
		return nil
	}
	part := *in
	part.Main, part.LastMain, part.Members = nil, observe.Ident{}, late
	return &part
}

// settles says that there is nothing to signal: the main process has ended and
// the next scan will tell what it left, or only processes are left that cannot
// be told.
func (p *planner) settles(s *situation, in *observe.Instance, reason spec.Reason) bool {
	switch {
	case in.Live() || len(in.Members) > 0 && p.looked(in):
		return false
	case !p.looked(in):
		p.why(s.key, Reason{Reason: reason, Detail: "looking for what the ended process left behind"})
	default:
		if r, ok := p.doubtful(s); ok {
			p.why(s.key, r)
		}
	}
	return true
}

// killInstance sends SIGKILL, again after a while to what is left, and names
// what refuses.
func (p *planner) killInstance(s *situation, in *observe.Instance, reason spec.Reason) {
	if p.settles(s, in, reason) {
		return
	}
	st := s.history.stop(in.ID)
	switch {
	case st != nil && st.Busy:
		p.why(s.key, Reason{Reason: spec.ReasonGraceOver, Detail: "signals are being sent"})
	case st != nil && st.Kills > 0 && p.w.Now.Before(st.KilledAt.Add(killInterval(st.Kills))):
		p.why(s.key, Reason{
			Reason: spec.ReasonGraceOver, Detail: remains(in, st),
			Until: st.KilledAt.Add(killInterval(st.Kills)),
		})
		// What was killed may have been the last of it; or a member is new.
		p.look = p.look || !p.w.Observed.Began.After(st.KilledAt)
	default:
		p.act(Action{Type: Kill, Key: s.key, Instance: in, Signal: sigKill, Policy: p.stopPolicy(s, in), Reason: reason})
		p.why(s.key, Reason{Reason: spec.ReasonGraceOver, Detail: "killing what is left"})
	}
}

// remains names what is left of an instance that was killed.
func remains(in *observe.Instance, st *StopState) string {
	if st.Refused != "" {
		return "cannot be killed: " + st.Refused
	}
	if in.Main != nil {
		return fmt.Sprintf("%v (%s) has been killed and is not gone yet", in.Main.Ident, in.Main.Command)
	}
	if len(in.Members) > 0 {
		m := in.Members[0]
		return fmt.Sprintf("%d left, the first is %v (%s)", len(in.Members), m.Ident, m.Command)
	}
	return "has been killed and is not gone yet"
}
