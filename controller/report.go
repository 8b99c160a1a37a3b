package controller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Report turns the world and the plan into the status of every key. It decides
// nothing, and Decide never reads what it says. The times in the conditions are
// those of this report; CarryTransitions keeps the older ones.
func Report(w World, p Plan) map[spec.Key]spec.Status {
	out := make(map[spec.Key]spec.Status, len(w.Desired.Entries))
	for s := range situations(&w) {
		if (s.entry == nil || s.entry.Gone()) && len(s.instances) == 0 {
			continue // only a memory
		}
		out[s.key] = report(&w, &p, &s)
	}
	return out
}

func report(w *World, p *Plan, s *situation) spec.Status {
	why := p.Why[s.key]
	if p.Blocked.Reason != "" {
		why = p.Blocked
	}
	if why.Reason == "" && len(s.instances) == 0 {
		why = s.suspension()
	}
	if why.Reason == "" && len(s.instances) == 0 && w.Shutdown != NotShuttingDown {
		why = Reason{Reason: spec.ReasonShutdown, Detail: "nothing of it is left"}
	}
	st := spec.Status{Reason: why.Reason, Message: sentence(why, w.Now), Hash: s.entryHash()}
	if s.history != nil {
		st.Restarts, st.LastTermination, st.LastDeath = s.history.Restarts, s.history.Last, s.history.Death
		st.RestartAskedAt, st.SuspendedAt = s.history.RestartAskedAt, s.history.SuspendedAt
		s.reportBridges(&st)
	}
	s.servingFirst(w)
	stay := s.sparedLast()
	for _, in := range s.instances {
		st.Instances = append(st.Instances, instanceStatus(w, s, in))
	}
	if len(st.Instances) > 0 {
		st.PID, st.Ports = st.Instances[0].PID, st.Instances[0].Ports
	}
	st.Server, st.Card = s.verified()
	st.Warnings = s.warnings(w)
	s.reportPublication(&st)
	st.Phase = phase(w, p, s, &st)
	st.Conditions = conditions(w, s, &st, why)
	ready := st.Conditions[len(st.Conditions)-1]
	st.Ready = ready.Status == spec.True
	if st.Reason == "" && !st.Ready {
		st.Reason, st.Message = ready.Reason, ready.Message
	}
	if stay != "" && st.Message == "" {
		st.Message = stay
	}
	return st
}

// sentence is the reason for a person, with the time that is waited for.
func sentence(r Reason, now time.Time) string {
	if r.Until.IsZero() {
		return r.Detail
	}
	left := max(r.Until.Sub(now), 0).Round(100 * time.Millisecond)
	if r.Detail == "" {
		return fmt.Sprintf("for another %v", left)
	}
	return fmt.Sprintf("%s (for another %v)", r.Detail, left)
}

func instanceStatus(w *World, s *situation, in *observe.Instance) spec.InstanceStatus {
	st := spec.InstanceStatus{
		Instance: in.ID, StartedAt: in.StartedAt, Scope: scopeText(in.Scope), Ports: in.Ports,
		Hash: in.Hash, Log: in.Log, Members: len(in.Members),
		Outdated: s.outdated(in) && !spared(s.stopPolicy(in), in),
	}
	if in.Live() {
		st.PID = in.Main.PID
		st.Ready = s.health(w, in).ready && s.history.stop(in.ID) == nil
	}
	if b := s.history.bridge(in.ID); b != nil {
		st.Bridge = &spec.BridgeStatus{ServerPID: b.PID, Sessions: b.Sessions, Servers: b.Servers}
	}
	if r := s.history.instance(in.ID); r != nil {
		st.Restarts = r.Restarts + s.history.serverRestarts(r)
	}
	return st
}

func scopeText(sc observe.Scope) string {
	switch {
	case sc.Mode == observe.ScopeSystemd:
		return "systemd: " + sc.Unit
	case sc.Mode == observe.ScopeCgroup:
		return "cgroup: " + sc.Cgroup
	case sc.Note != "":
		return "off: " + sc.Note
	}
	return "off"
}

// health is that of a live instance. Where no manifest says what it should be
// like, it is well.
func (s *situation) health(w *World, in *observe.Instance) health {
	if s.entry == nil || s.entry.Object == nil {
		return health{ready: true}
	}
	return w.healthOf(s.entry, s.history, in)
}

// wasReady says that an instance has been ready at some time, as far as that is
// known.
func (s *situation) wasReady(in *observe.Instance) bool {
	st := s.history.probe(in.ID, Readiness)
	return st != nil && st.Passed
}

// phases gives the phase that a reason of the plan means.
var phases = map[spec.Reason]spec.Phase{
	spec.ReasonBackOff: spec.PhaseBackOff,

	spec.ReasonLooksLikeStdio: spec.PhaseBackOff,
	spec.ReasonCompleted:      spec.PhaseCompleted,
	spec.ReasonFailed:         spec.PhaseFailed,
	spec.ReasonStarting:       spec.PhaseStarting,
	spec.ReasonCannotTell:     spec.PhaseUnknown,
	spec.ReasonNotObserved:    spec.PhaseUnknown,
	spec.ReasonNotWanted:      spec.PhaseStopping,
	spec.ReasonScaledDown:     spec.PhaseStopping,
	spec.ReasonShutdown:       spec.PhaseStopping,
	spec.ReasonGraceOver:      spec.PhaseStopping,
	spec.ReasonMainGone:       spec.PhaseStopping,
}

func phase(w *World, p *Plan, s *situation, st *spec.Status) spec.Phase {
	live, starting := 0, s.history != nil && len(s.history.Starting) > 0
	for _, in := range st.Instances {
		if in.PID != 0 {
			live++
		}
	}
	switch {
	case p.Blocked.Reason != "":
		return spec.PhaseUnknown
	case s.succession(w) != "":
		return spec.PhaseRunning
	case slices.ContainsFunc(s.instances, func(in *observe.Instance) bool {
		return s.history.stop(in.ID) != nil && !spared(s.stopPolicy(in), in)
	}):
		return spec.PhaseStopping
	case live > 0 && p.Why[s.key].Reason == spec.ReasonDependentsFirst:
		return spec.PhaseStopping
	case starting:
		return spec.PhaseStarting
	case live > 0 && nextServer(s.history.bridge(s.instances[0].ID)).After(w.Now):
		return spec.PhaseBackOff
	case live > 0:
		if in := s.instances[0]; in.Live() && !s.health(w, in).ready && !s.wasReady(in) {
			return spec.PhaseStarting
		}
		return spec.PhaseRunning
	case s.suspension().Reason != "":
		return spec.PhaseSuspended
	}
	if ph, ok := phases[p.Why[s.key].Reason]; ok {
		return ph
	}
	return spec.PhasePending
}

// conditions gives all conditions, Ready last.
func conditions(w *World, s *situation, st *spec.Status, why Reason) []spec.Condition {
	hash := st.Hash
	cond := func(t spec.ConditionType, v spec.ConditionStatus, r spec.Reason, msg string) spec.Condition {
		return spec.Condition{Type: t, Status: v, Reason: r, Message: msg, LastTransitionTime: w.Now, ObservedHash: hash}
	}
	accepted := cond(accepted(s))
	available := cond(available(w, s, st))
	progressing := cond(spec.CondProgressing, spec.False, orRunning(why.Reason), "")
	if moves(st.Phase, why.Reason) {
		progressing.Status, progressing.Message = spec.True, st.Message
	}
	verified := cond(verification(s))
	stalled := cond(spec.CondStalled, spec.False, orRunning(why.Reason), "")
	if r := s.givenUp(); r != nil {
		progressing = cond(spec.CondProgressing, spec.False, spec.ReasonDeadlineExceeded, r.GivenUp)
		stalled = cond(spec.CondStalled, spec.True, spec.ReasonDeadlineExceeded, r.GivenUp)
	}
	if needsPerson(why.Reason) || s.history != nil && s.history.Failure != nil && unacceptable(s.history.Failure.Reason) {
		stalled.Status, stalled.Message = spec.True, st.Message
	}
	if s.looksLikeStdio() && !s.ranOn(w.Now) {
		stalled.Status, stalled.Reason, stalled.Message = spec.True, spec.ReasonLooksLikeStdio, stdioAdvice
	}
	ready := cond(spec.CondReady, spec.True, spec.ReasonRunning, "")
	for _, c := range []spec.Condition{accepted, available} {
		if c.Status != spec.True {
			ready.Status, ready.Reason, ready.Message = c.Status, c.Reason, c.Message
			break
		}
	}
	if beside := s.succession(w); ready.Status == spec.True && beside != "" {
		ready.Reason, ready.Message = s.replacing(), beside
	} else if ready.Status == spec.True && st.Instances[0].Outdated {
		ready.Status, ready.Reason, ready.Message = spec.False, s.replacing(), s.notReplaced()
	}
	all := []spec.Condition{accepted, available, progressing, stalled, ready}
	if verified.Type != "" {
		all = slices.Insert(all, 2, verified)
	}
	return all
}

func orRunning(r spec.Reason) spec.Reason {
	if r == "" {
		return spec.ReasonRunning
	}
	return r
}

// accepted says whether the manifest is valid and its program there.
func accepted(s *situation) (spec.ConditionType, spec.ConditionStatus, spec.Reason, string) {
	e := s.entry
	switch {
	case e == nil:
		return spec.CondAccepted, spec.Unknown, spec.ReasonNotWanted, "no manifest names it"
	case len(e.Problems) > 0:
		return spec.CondAccepted, spec.False, e.Problems[0].Reason, findings(e.Problems)
	case e.Gone():
		return spec.CondAccepted, spec.Unknown, spec.ReasonDeletionHeld, "its manifest is gone"
	case len(e.Order) > 0:
		return spec.CondAccepted, spec.False, e.Order[0].Reason, findings(e.Order)
	case s.history != nil && s.history.Failure != nil && unacceptable(s.history.Failure.Reason):
		return spec.CondAccepted, spec.False, s.history.Failure.Reason, s.history.Failure.Message
	case s.history != nil && s.history.Resolved != nil && s.history.Resolved.Message != "" && s.history.Resolved.Hash == e.Hash:
		return spec.CondAccepted, spec.False, s.history.Resolved.Reason, s.history.Resolved.Message
	}
	return spec.CondAccepted, spec.True, spec.ReasonValid, ""
}

// findings gives several in one line.
func findings(all []spec.Finding) string {
	var lines []string
	for _, f := range all {
		if f.Line > 0 {
			lines = append(lines, fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message))
		} else {
			lines = append(lines, f.File+": "+f.Message)
		}
	}
	return strings.Join(lines, "; ")
}

// unacceptable says that a failed start is the manifest's fault.
func unacceptable(r spec.Reason) bool {
	switch r {
	case spec.ReasonProgramNotFound, spec.ReasonNotExecutable, spec.ReasonWorkingDir, spec.ReasonEnvironment,
		spec.ReasonUserUnknown, spec.ReasonUserRefused, spec.ReasonTokenFile:
		return true
	}
	return false
}

// available says whether as many run as are wanted, and listen where they
// should.
func available(w *World, s *situation, st *spec.Status) (spec.ConditionType, spec.ConditionStatus, spec.Reason, string) {
	wanted, ready := 1, 0
	if s.entry != nil && s.entry.Object != nil {
		wanted = replicas(s.entry, s.history)
	}
	for _, in := range st.Instances {
		if in.Ready {
			ready++
		}
	}
	if ready >= wanted && ready > 0 {
		return spec.CondAvailable, spec.True, spec.ReasonRunning, ""
	}
	for _, in := range s.instances {
		if !in.Live() || s.history.stop(in.ID) != nil {
			continue
		}
		if hl := s.health(w, in); !hl.ready {
			return spec.CondAvailable, spec.False, hl.why.Reason, sentence(hl.why, w.Now)
		}
	}
	if st.Reason != "" {
		return spec.CondAvailable, spec.False, st.Reason, st.Message
	}
	return spec.CondAvailable, spec.False, spec.ReasonNotListening, fmt.Sprintf("%d of %d run", ready, wanted)
}

// moves says that the controller is at work on the key.
func moves(ph spec.Phase, r spec.Reason) bool {
	switch ph {
	case spec.PhaseStarting, spec.PhaseStopping, spec.PhaseBackOff:
		return true
	}
	switch r {
	case spec.ReasonChecking, spec.ReasonSpecChanged, spec.ReasonRestartAsked, spec.ReasonDraining, spec.ReasonStarting, spec.ReasonBackOff,
		spec.ReasonDependencyWait, spec.ReasonDependentsFirst:
		return true
	}
	return false
}

// needsPerson says that nothing will change until somebody does something.
func needsPerson(r spec.Reason) bool {
	switch r {
	case spec.ReasonCannotTell, spec.ReasonInvalid, spec.ReasonMCPConfig,
		spec.ReasonDependencyMissing, spec.ReasonDependencyCycle, spec.ReasonDependencyEndless:
		return true
	}
	return unacceptable(r)
}

// CarryTransitions keeps the transition times of conditions whose value has not
// changed between two reports of a key.
func CarryTransitions(prev, next []spec.Condition) {
	for i := range next {
		for j := range prev {
			if prev[j].Type == next[i].Type && prev[j].Status == next[i].Status {
				next[i].LastTransitionTime = prev[j].LastTransitionTime
			}
		}
	}
}
