package controller

import (
	"fmt"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// stopPolicy says how an instance is stopped: as the stop that is under way
// began, else as its manifest says, else as was noted when it was started, else
// by the defaults.
func (s *situation) stopPolicy(in *observe.Instance) StopPolicy {
	if st := s.history.stop(in.ID); st != nil {
		return st.Policy
	}
	if s.entry != nil && s.entry.Object != nil {
		return policyOf(&s.entry.Object.Spec).asStarted(s.entry.Hash, in.Hash, s.history.instance(in.ID))
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
	return StopPolicy{
		Signal: signal, Grace: time.Duration(*sp.TerminationGracePeriodSeconds) * time.Second, Mode: sp.KillMode,
		Bridged: sp.MCP.IsStdio(),
	}
}

const (
	defaultGrace = 10 * time.Second
	sigTerm      = 15
	sigKill      = 9
)

// stopInstance takes the next step of a stop: the preStop hook if there is one,
// the stop signal, the wait for the grace period, SIGKILL, again SIGKILL for what
// is left.
func (p *planner) stopInstance(s *situation, in *observe.Instance, reason spec.Reason) {
	if p.settles(s, in, reason) {
		return
	}
	st := s.history.stop(in.ID)
	policy := p.stopPolicy(s, in)
	if st == nil {
		a, why := p.beginning(s, in, policy, reason), Reason{Reason: reason}
		if a.Type == PreStop {
			why.Detail, why.Until = waitsForHook, p.w.Now.Add(policy.Grace)
		}
		p.act(a)
		p.why(s.key, why)
		return
	}
	over := st.At.Add(policy.Grace)
	switch {
	case st.Kills > 0 || !p.w.Now.Before(over):
		p.killInstance(s, in, st.Reason)
		return
	case st.signalDue(in):
		p.act(firstSignal(s.key, in, policy, st.Reason))
		p.why(s.key, Reason{Reason: st.Reason, Until: over})
		return
	case st.Hook == HookRunning:
		p.why(s.key, Reason{Reason: st.Reason, Detail: waitsForHook, Until: over})
		return
	}
	p.why(s.key, Reason{Reason: st.Reason, Detail: "waiting for it to end before it is killed", Until: over})
	p.follow(in, st)
	if late := unreached(in, st); late != nil && !st.Busy {
		p.act(Action{Type: Stop, Key: s.key, Instance: late, Signal: policy.Signal, Policy: policy, Reason: st.Reason})
	}
}

const waitsForHook = "waiting for its preStop hook before it is signalled"

// beginning is the first step of a stop: the preStop hook, or the stop signal.
func (p *planner) beginning(s *situation, in *observe.Instance, policy StopPolicy, reason spec.Reason) Action {
	if e := s.preStopOf(in); e != nil && policy.Grace > 0 {
		return Action{Type: PreStop, Key: s.key, Entry: e, Instance: in, Policy: policy, Reason: reason}
	}
	return firstSignal(s.key, in, policy, reason)
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
	if st.Policy.Bridged && in.Live() {
		return nil // the bridge sees to it
	}
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
