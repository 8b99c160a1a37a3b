package controller

import (
	"fmt"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// startMissing starts what is wanted and neither live nor on its way, unless
// one of the rows 13 to 16 stands against it; else row 17.
func (p *planner) startMissing(s *situation, wanted int) {
	missing := wanted - len(s.instances)
	h := s.history
	if h != nil {
		missing -= len(h.Starting)
	}
	if missing <= 0 {
		p.progress(s)
		return
	}
	if p.userUnknown(s) { // row 1, for this key alone
		return
	}
	if r, stands := p.doubtful(s); stands { // row 13
		p.why(s.key, r)
		return
	}
	if missing > finished(s) && p.waitsForDependency(s) {
		return
	}
	if p.portsHeld(s) { // row 14
		return
	}
	if missing -= finished(s); missing <= 0 { // row 15
		p.why(s.key, completed(s))
		return
	}
	if until := p.backoff(s); p.w.Now.Before(until) { // row 16
		r := Reason{Reason: spec.ReasonBackOff, Detail: lastCrash(h), Until: until}
		if s.looksLikeStdio() {
			r.Reason, r.Detail = spec.ReasonLooksLikeStdio, stdioAdvice
		}
		p.why(s.key, r)
		return
	}
	if p.unpublished(s) {
		return
	}
	for range missing { // row 17
		p.act(Action{Type: Start, Key: s.key, Entry: s.entry, Reason: startReason(h)})
	}
	p.why(s.key, Reason{Reason: spec.ReasonStarting})
}

// progress says why a key that is neither as wanted nor in need of a start is
// where it is, where no row above has said so.
func (p *planner) progress(s *situation) {
	if _, said := p.plan.Why[s.key]; said {
		return
	}
	if h := s.history; h != nil && len(h.Starting) > 0 {
		p.why(s.key, Reason{Reason: spec.ReasonStarting})
		return
	}
	if r, stands := p.doubtful(s); stands { // row 13, for one that is known by name
		p.why(s.key, r)
	}
}

// doubtful finds a process that cannot be told but that a witness connects with
// the key: it could be the one that is missing.
func (p *planner) doubtful(s *situation) (Reason, bool) {
	for _, in := range s.instances {
		for _, d := range in.Doubtful {
			return Reason{Reason: spec.ReasonCannotTell, Detail: fmt.Sprintf(
				"%v (%s) may be this workload and cannot be told apart; end it by hand, or wait until it ends", d.Ident, d.Command)}, true
		}
	}
	return Reason{}, false
}

// finished is how many replicas have done what their restart policy asks for.
func finished(s *situation) int {
	h := s.history
	if h == nil || h.Hash != s.entry.Hash {
		return 0
	}
	switch s.entry.Object.Spec.RestartPolicy {
	case spec.RestartNever:
		return h.Ended
	case spec.RestartOnFailure:
		return h.Succeeded
	}
	return 0
}

// completed says what a workload that is not started again has come to. With
// Never, one replica that failed is enough for a failure.
func completed(s *situation) Reason {
	h := s.history
	failed := h.Ended - h.Succeeded
	switch {
	case h.Failure != nil:
		return Reason{Reason: spec.ReasonFailed, Detail: h.Failure.Message}
	case s.entry.Object.Spec.RestartPolicy != spec.RestartNever || failed <= 0:
		return Reason{Reason: spec.ReasonCompleted}
	case h.Last != nil && !well(h.Last):
		return Reason{Reason: spec.ReasonFailed, Detail: ended(h.Last)}
	}
	return Reason{Reason: spec.ReasonFailed, Detail: fmt.Sprintf("%d of %d failed", failed, h.Ended)}
}

// well says that a main process ended as it should.
func well(t *spec.Termination) bool {
	return t.Reason == spec.ReasonCompleted || t.Reason == spec.ReasonStopped
}

// backoff is the time before which the key is not started again.
func (p *planner) backoff(s *situation) time.Time {
	h := s.history
	if h == nil || h.Crashes == 0 || h.Hash != s.entry.Hash {
		return time.Time{}
	}
	d := s.entry.Object.Spec.Backoff.Delay(h.Crashes)
	if h.Failure != nil {
		d = min(d, maxFailureDelay) // no process ran: trying again is cheap
	}
	until := h.CrashedAt.Add(d)
	if h.Crashes > 1 && until.Before(h.TriedAt.Add(leastDelay)) {
		return h.TriedAt.Add(leastDelay)
	}
	return until
}

func startReason(h *KeyHistory) spec.Reason {
	if h != nil && h.Crashes > 0 {
		return spec.ReasonRestart
	}
	return spec.ReasonWanted
}

// lastCrash says what the back-off is for.
func lastCrash(h *KeyHistory) string {
	if h.Failure != nil {
		return h.Failure.Message
	}
	return ended(h.Last)
}

// gaveUp says which probe has given up a main process, and what it said.
func gaveUp(t *spec.Termination) string {
	probe, _ := givenUpBy(t.Reason)
	said := "the " + probe.String() + " probe failed"
	if t.Message != "" {
		said += ": " + t.Message
	}
	return said
}

// givenUpBy is the probe whose failure is a reason to stop.
func givenUpBy(r spec.Reason) (k ProbeKind, ok bool) {
	switch r {
	case spec.ReasonLivenessFailed:
		return Liveness, true
	case spec.ReasonStartupFailed:
		return Startup, true
	}
	return 0, false
}

// ended says in words how a main process ended.
func ended(t *spec.Termination) string {
	switch {
	case t == nil:
		return ""
	case t.Reason == spec.ReasonOOMKilled:
		return "ran out of memory"
	case t.Reason == spec.ReasonLivenessFailed || t.Reason == spec.ReasonStartupFailed:
		return gaveUp(t)
	case t.Signal != "":
		return "ended by " + t.Signal
	case t.Reason == spec.ReasonUnknown:
		return "ended; how is not known"
	case t.Output != "" && t.ExitCode != 0:
		return fmt.Sprintf("exit code %d: %s", t.ExitCode, t.Output)
	}
	return fmt.Sprintf("exit code %d", t.ExitCode)
}
