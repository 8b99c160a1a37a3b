package controller

import (
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// ProbeKind is what a probe is for.
type ProbeKind uint8

// The kinds of a Pod, and the one question that is asked only until it has been
// answered: what the server or the agent says of itself.
const (
	Startup ProbeKind = iota
	Readiness
	Liveness
	Verification
)

func (k ProbeKind) String() string {
	return [...]string{"startup", "readiness", "liveness", "verification"}[k]
}

// Verdict is what the attempts of a probe come to.
type Verdict uint8

// The verdicts. One that is reached stands until as many attempts in a row as
// the threshold asks for say otherwise.
const (
	NotKnown Verdict = iota
	Passing
	Failing
)

// ProbeState is what is known of one probe of one instance. It lives as long as
// the instance, and no longer than the controller.
type ProbeState struct {
	ID   spec.Instance
	Kind ProbeKind
	// Since is when the instance was first asked in this life of the controller,
	// or when the machine was last awake again: time before it does not count.
	Since time.Time
	// AskedAt is when the last attempt began. Busy says that it is under way, and
	// Void that it cannot tell anything any more.
	AskedAt    time.Time
	Busy, Void bool

	Verdict Verdict
	// Passed says that it has been Passing at any time.
	Passed bool
	// Successes and Failures are attempts in a row; one of them is 0.
	Successes, Failures int
	// FailedAt is when the last failed attempt ended; Message is what it said.
	FailedAt time.Time
	Message  string
	// Answer is what was last learned.
	Answer observe.Answer
	// Bridge is what the bridge of a stdio server last reported, at BridgeAt; nil
	// where there is none.
	Bridge   *observe.BridgeReport
	BridgeAt time.Time
}

// probe gives the state of a probe, or nil.
func (k *KeyHistory) probe(id spec.Instance, kind ProbeKind) *ProbeState {
	if k == nil {
		return nil
	}
	for i := range k.Probes {
		if st := &k.Probes[i]; st.Kind == kind && st.ID == id {
			return st
		}
	}
	return nil
}

// ProbeAsked says that an attempt was handed out.
type ProbeAsked struct {
	Key  spec.Key
	ID   spec.Instance
	Kind ProbeKind
	At   time.Time
}

// Probed says what came of it.
type Probed struct {
	Key  spec.Key
	ID   spec.Instance
	Kind ProbeKind
	// Main is the process that was asked.
	Main   observe.Ident
	At     time.Time
	Err    string // the failure; empty for a success
	Answer observe.Answer
	// Void says that a failure tells nothing: nobody ran meanwhile, or it is being
	// stopped.
	Void bool
	// Successes and Failures are the thresholds of the manifest.
	Successes, Failures int
}

// Slept says that for a while nothing of the machine, or nothing of this
// program, ran: what a probe did not see in that time tells nothing.
type Slept struct {
	Key spec.Key
	At  time.Time
}

// EventKey names the key that the event is about.
func (e ProbeAsked) EventKey() spec.Key { return e.Key }

// EventKey names the key that the event is about.
func (e Probed) EventKey() spec.Key { return e.Key }

// EventKey names the key that the event is about.
func (e Slept) EventKey() spec.Key { return e.Key }

func (e ProbeAsked) fold(k *KeyHistory) {
	st := k.probe(e.ID, e.Kind)
	if st == nil {
		k.Probes = append(k.Probes, ProbeState{ID: e.ID, Kind: e.Kind, Since: e.At})
		st = &k.Probes[len(k.Probes)-1]
	}
	st.AskedAt, st.Busy, st.Void = e.At, true, false
}

func (e Probed) fold(k *KeyHistory) {
	if st, next := k.after(&e); st != nil {
		*st = next
	}
}

// after gives the state of a probe, and the one that an attempt makes of it. The
// late answer of an instance that is gone finds no state, and is dropped. So is
// that of one which is being stopped: it hangs up, or wakes, and neither says why
// it was given up.
func (k *KeyHistory) after(e *Probed) (st *ProbeState, next ProbeState) {
	if st = k.probe(e.ID, e.Kind); st == nil {
		return nil, ProbeState{}
	}
	if k.stop(e.ID) != nil {
		next = *st
		next.Busy, next.Void = false, false
		return st, next
	}
	return st, st.with(e)
}

// with is the state after an attempt.
func (st *ProbeState) with(e *Probed) ProbeState {
	next := *st
	next.Busy, next.Void = false, false
	if e.Answer.Bridge != nil {
		next.Bridge, next.BridgeAt = e.Answer.Bridge, e.At
	}
	switch {
	case e.Err == "":
		next.Successes, next.Failures, next.Answer = st.Successes+1, 0, e.Answer
		if next.Successes >= e.Successes || st.Verdict == Passing {
			next.Verdict, next.Passed, next.Message = Passing, true, ""
		}
	case st.Void || e.Void:
	default:
		next.Successes, next.Failures, next.FailedAt, next.Message = 0, st.Failures+1, e.At, e.Err
		if next.Failures >= e.Failures {
			next.Verdict = Failing
		}
	}
	return next
}

// steady says that an attempt only says once more what is known.
func (st *ProbeState) steady(e *Probed) bool {
	return st != nil && e.Err == "" && st.Verdict == Passing && st.Failures == 0 && st.Successes > 1 &&
		sameReport(st.Bridge, e.Answer.Bridge)
}

// Counts begin anew, and each probe waits for one period: nothing happens in
// bulk, and nobody is blamed for time in which nobody ran.
func (e Slept) fold(k *KeyHistory) {
	for i := range k.Probes {
		st := &k.Probes[i]
		st.Since, st.AskedAt, st.Void = e.At, e.At, st.Busy
		st.Successes, st.Failures = min(st.Successes, 1), 0
	}
}

// dropProbes forgets what was learned from an instance whose main process has
// ended.
func (k *KeyHistory) dropProbes(id spec.Instance) {
	k.Probes = slices.DeleteFunc(k.Probes, func(st ProbeState) bool { return st.ID == id })
}
