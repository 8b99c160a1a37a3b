package controller

import (
	"cmp"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// What a person asks of the running controller, beside the manifests, is history:
// it cannot be observed again. It says what is to be true from then on, and not
// what is to be done: that is decided by the same rows as everything else.
//
// A restart that was asked for is noted at each instance that there is, or that is
// just being started. No clock is compared with another one for it, and what is
// started afterwards is never taken for what was to go.

// RestartAsked says that somebody wants all instances of a key replaced that were
// there then, and whatever kept it from being started forgotten.
type RestartAsked struct {
	Key spec.Key  `json:"key"`
	At  time.Time `json:"at"`
}

// SuspendAsked says that somebody has suspended a key at runtime, in addition to
// what its manifest says, or has taken that back.
type SuspendAsked struct {
	Key     spec.Key  `json:"key"`
	Suspend bool      `json:"suspend"`
	At      time.Time `json:"at"`
	// Why says what has taken it back, where nobody did.
	Why string `json:"why,omitempty"`
}

// EventKey and its like name the key that an event is about.
func (e RestartAsked) EventKey() spec.Key { return e.Key }
func (e SuspendAsked) EventKey() spec.Key { return e.Key }

func (e RestartAsked) fold(k *KeyHistory) {
	k.RestartAskedAt = e.At
	k.Crashes, k.Ended, k.Succeeded, k.AtOnce, k.Failure = 0, 0, 0, 0, nil
	k.Replacement, k.Resolved = nil, nil
	for i := range k.Instances {
		k.Instances[i].Renew = true
	}
	for i := range k.Starting {
		k.Starting[i].Renew = true
	}
}

func (e SuspendAsked) fold(k *KeyHistory) {
	k.SuspendedAt = time.Time{}
	if e.Suspend {
		k.SuspendedAt = e.At
	}
}

// what says what was asked for.
func (e SuspendAsked) what() string {
	switch {
	case e.Suspend:
		return "suspended at runtime"
	case e.Why != "":
		return "no longer suspended at runtime: " + e.Why
	}
	return "resumed"
}

// occurrence is the line that it leaves.
func (e SuspendAsked) occurrence() Occurrence {
	o := Occurrence{Time: e.At, Type: WasResumed, Key: e.Key.String(), Message: cmp.Or(e.Why, "at runtime")}
	if e.Suspend {
		o.Type = WasSuspended
	}
	return o
}

// suspended says that a key is suspended at runtime.
func (k *KeyHistory) suspended() bool { return k != nil && !k.SuspendedAt.IsZero() }

// renews says that a restart was asked for after an instance was started, or
// while it was.
func (k *KeyHistory) renews(id spec.Instance) bool {
	if k == nil || k.RestartAskedAt.IsZero() {
		return false // as nearly always
	}
	if r := k.instance(id); r != nil {
		return r.Renew
	}
	for i := range k.Starting {
		if s := &k.Starting[i]; s.Renew && s.Token == id.Token() {
			return true // it is seen before its start is over
		}
	}
	return false
}

// outdated says that an instance is to be replaced: it runs another program than
// the one that an accepted entry asks for, or a restart was asked for.
func (k *KeyHistory) outdated(e *spec.Entry, in *observe.Instance) bool {
	return in.Hash != e.Hash || k.renews(in.ID)
}

// outdated says that an instance is to be replaced.
func (s *situation) outdated(in *observe.Instance) bool {
	return s.entry != nil && s.entry.Object != nil && s.history.outdated(s.entry, in)
}

// replaceReason is why an outdated instance is replaced.
func (s *situation) replaceReason(in *observe.Instance) spec.Reason {
	if in.Hash != s.entryHash() {
		return spec.ReasonSpecChanged
	}
	return spec.ReasonRestartAsked
}

// replacing is why the outdated ones of a key are replaced.
func (s *situation) replacing() spec.Reason {
	reason := spec.ReasonSpecChanged
	for _, in := range s.instances {
		if !s.outdated(in) {
			continue
		}
		if reason = s.replaceReason(in); reason == spec.ReasonSpecChanged {
			break
		}
	}
	return reason
}

// notReplaced says what runs of a key whose first instance is outdated.
func (s *situation) notReplaced() string {
	if s.replacing() == spec.ReasonRestartAsked {
		return "a restart was asked for, and the instance that runs is still the former one"
	}
	return "the running instance is not yet that of the manifest"
}

// suspension says whether an accepted manifest or a person has suspended a key;
// no reason if it is not.
func (s *situation) suspension() Reason {
	e := s.entry
	switch {
	case e == nil || e.Object == nil:
		return Reason{}
	case s.history.suspended():
		return Reason{Reason: spec.ReasonSuspendedNow, Detail: s.suspendedNow()}
	case e.Object.Spec.Suspend:
		return Reason{Reason: spec.ReasonSuspended}
	}
	return Reason{}
}

// suspendedNow says of a suspension that it was asked for at runtime, and what
// undoes it.
func (s *situation) suspendedNow() string {
	how := "asked for at runtime; to undo it: " + s.resume()
	if s.entry.Object.Spec.Suspend {
		how += "; its manifest suspends it, too"
	}
	return how
}

// resume is the command that resumes a key.
func (s *situation) resume() string {
	return "proc-controller resume " + strings.ToLower(string(s.key.Kind)) + "/" + s.key.Name
}

// forgetSuspension takes a suspension at runtime back where it is proven that no
// manifest names the key any more: a workload that comes later is another one.
func (p *planner) forgetSuspension(s *situation) {
	if s.history.suspended() && (s.entry == nil || s.entry.Gone()) {
		p.act(Action{Type: Note, Key: s.key, Reason: spec.ReasonNotWanted, Event: SuspendAsked{
			Key: s.key, At: p.w.Now, Why: "its manifest is gone",
		}})
	}
}
