package controller

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Replacement is a BlueGreen that is under way or was given up.
type Replacement struct {
	// Hash is that of the new program.
	Hash spec.Hash `json:"hash"`
	// Since is when it was first started beside the former one.
	Since time.Time `json:"since,omitzero"`
	// GivenUp says why it is not tried any more; empty while it is. It is tried
	// again when the spec is another one than Spec: a probe that was mended is not
	// in the hash.
	GivenUp string `json:"givenUp,omitempty"`
	Spec    string `json:"spec,omitempty"`
}

func (r *Replacement) isGivenUp() bool { return r != nil && r.GivenUp != "" }

// GaveUp says that a new program was not ready in time beside the former one.
type GaveUp struct {
	Key     spec.Key  `json:"key"`
	Hash    spec.Hash `json:"hash"`
	Spec    string    `json:"spec"`
	Message string    `json:"message"`
	At      time.Time `json:"at"`
}

// Reconsidered says that another program, or another spec, is wanted than that
// of a replacement.
type Reconsidered struct {
	Key  spec.Key  `json:"key"`
	Hash spec.Hash `json:"hash"`
}

// Succeeds says that an instance is ready beside one that it is to replace.
type Succeeds struct {
	Key   spec.Key
	ID    spec.Instance
	Since time.Time
}

// EventKey names the key that the event is about.
func (e GaveUp) EventKey() spec.Key { return e.Key }

// EventKey names the key that the event is about.
func (e Reconsidered) EventKey() spec.Key { return e.Key }

// EventKey names the key that the event is about.
func (e Succeeds) EventKey() spec.Key { return e.Key }

func (e GaveUp) fold(k *KeyHistory) {
	k.Replacement = &Replacement{Hash: e.Hash, GivenUp: e.Message, Spec: e.Spec}
}

// What is counted from now on belongs to the program that is wanted, also where
// that one runs and the other had been started last.
func (e Reconsidered) fold(k *KeyHistory) {
	k.Replacement = nil
	k.begin(e.Hash)
}

func (e Succeeds) fold(k *KeyHistory) { k.Successor = e }

// replacement is that of a program, or nil.
func (k *KeyHistory) replacement(h spec.Hash) *Replacement {
	if k == nil || k.Replacement == nil || k.Replacement.Hash != h {
		return nil
	}
	return k.Replacement
}

// replaced notes the end of an instance of a program, which was to be restarted
// perhaps. If it was a former one, the next one has its own time to be replaced
// in.
func (k *KeyHistory) replaced(h spec.Hash, renew bool) {
	if r := k.Replacement; r != nil && (r.Hash != h || renew) && !r.isGivenUp() {
		k.Replacement = nil
	}
}

// reconsider has a replacement forgotten that is not what is wanted any more.
func (p *planner) reconsider(s *situation) {
	if s.history == nil || s.history.Replacement == nil || s.entry == nil || s.entry.Object == nil || s.entry.Gone() {
		return
	}
	if r := s.history.Replacement; r.Hash == s.entry.Hash && (!r.isGivenUp() || r.Spec == specSum(s.entry)) {
		return
	}
	p.act(Action{Type: Note, Key: s.key, Reason: spec.ReasonSpecChanged, Event: Reconsidered{s.key, s.entry.Hash}})
	h := s.history.clone()
	h.Replacement = nil
	s.history = h
}

// specSum stands for all of a spec, not only for what is in its hash.
func specSum(e *spec.Entry) string {
	b, _ := json.Marshal(&e.Object.Spec) // it came from JSON
	h := fnv.New64a()
	_, _ = h.Write(b)
	return strconv.FormatUint(h.Sum64(), 16)
}

// givesUp says that the wanted program is not tried beside the former one any
// more. Its time begins with its first start beside it: further starts after a
// crash are within the same time. Of an instance that was found, and not
// started, it begins with its own start.
//
// Nothing is given up while it is not known whether the new one is ready, as
// when the controller was just started.
func (p *planner) givesUp(s *situation, b *beside, wanted int) bool {
	r := s.history.replacement(s.entry.Hash)
	switch {
	case r.isGivenUp():
		return true
	case len(b.old)+len(b.ready) > wanted:
		return false // it is ready
	case len(b.old)+len(b.ready) < wanted: // what is new only fills a gap
		if r != nil {
			p.act(Action{Type: Note, Key: s.key, Reason: spec.ReasonWanted, Event: Reconsidered{s.key, s.entry.Hash}})
		}
		return false
	case r != nil:
		b.until = r.Since.Add(deadline(s.entry))
	case len(b.pending) > 0:
		b.until = b.pending[0].StartedAt.Add(deadline(s.entry))
	default:
		return false
	}
	if p.w.Now.Before(b.until) {
		p.wake(b.until)
		return false
	}
	if slices.ContainsFunc(b.pending, func(in *observe.Instance) bool { return p.w.readinessUnknown(s.entry, s.history, in) }) {
		b.until = time.Time{} // an answer is waited for, not a time
		return false
	}
	message := fmt.Sprintf("not ready within %v: %s", deadline(s.entry), p.lastObstacle(s, b))
	p.act(Action{Type: Note, Key: s.key, Reason: spec.ReasonDeadlineExceeded, Event: GaveUp{
		Key: s.key, Hash: s.entry.Hash, Spec: specSum(s.entry), Message: message, At: p.w.Now,
	}})
	p.why(s.key, Reason{Reason: spec.ReasonDeadlineExceeded, Detail: message + "; the former one runs on"})
	return true
}

func deadline(e *spec.Entry) time.Duration {
	return time.Duration(e.Object.Spec.Strategy.ProgressDeadlineSeconds) * time.Second
}

// lastObstacle says why the new program is not ready.
func (p *planner) lastObstacle(s *situation, b *beside) string {
	h := s.history
	switch {
	case h != nil && h.Crashes > 0 && h.Hash == s.entry.Hash:
		return lastCrash(h)
	case len(b.pending) > 0:
		return cause(p.w.healthOf(s.entry, h, b.pending[0]).why)
	case h != nil && len(h.Starting) > 0:
		return "it is still being started"
	}
	return "it does not run"
}

// readinessUnknown says that nobody has looked yet whether an instance is ready,
// although it is time.
func (w *World) readinessUnknown(e *spec.Entry, h *KeyHistory, in *observe.Instance) bool {
	sp := &e.Object.Spec
	for _, kind := range []ProbeKind{Startup, Readiness} {
		probe := probeFor(sp, kind)
		if probe == nil || kind == Startup && !w.startsUp(sp, h, in) {
			continue
		}
		st := h.probe(in.ID, kind)
		switch {
		case st == nil || st.Successes+st.Failures == 0:
			return !w.Now.Before(dueAt(probe, kind, nil, nil, in))
		case st.Verdict != Passing:
			return false
		}
	}
	for _, port := range neededPorts(sp, in) {
		if w.Observed.Listeners[port.Port].At.IsZero() {
			return true
		}
	}
	return w.healthOf(e, h, in).why.Reason == spec.ReasonChecking
}

// givenUp is the replacement that was given up while a former program runs, or
// nil.
func (s *situation) givenUp() *Replacement {
	if s.entry == nil || !isBlueGreen(s.entry) || !slices.ContainsFunc(s.instances, s.outdated) {
		return nil
	}
	if r := s.history.replacement(s.entry.Hash); r.isGivenUp() {
		return r
	}
	return nil
}

// succession says in words how far a BlueGreen is, if one is being done and
// something can be used meanwhile.
func (s *situation) succession(w *World) string {
	if !isBlueGreen(s.entry) || s.entry.Gone() || replicas(s.entry, s.history) == 0 || !slices.ContainsFunc(s.instances, s.outdated) {
		return ""
	}
	usable := func(in *observe.Instance) bool { return w.ready(s.entry, s.history, in) }
	i := slices.IndexFunc(s.instances, usable)
	switch {
	case i < 0:
		return ""
	case s.givenUp() != nil:
		return "the former one runs on: the new one was " + s.givenUp().GivenUp
	case s.outdated(s.instances[i]):
		return "the former one runs until the new one is ready, which is being started"
	}
	return "the new one is ready, and the former one stops"
}

// servingFirst puts the instances that can be used first, those that are outdated
// behind the others: the first is the one that clients are sent to.
func (s *situation) servingFirst(w *World) {
	if len(s.instances) < 2 {
		return
	}
	rank := func(in *observe.Instance) int {
		old := 0
		if s.outdated(in) {
			old = 1
		}
		switch {
		case w.ready(s.entry, s.history, in):
			return old
		case in.Live():
			return 3 - old // what has not been ready yet comes last
		}
		return 4
	}
	s.instances = slices.Clone(s.instances)
	slices.SortStableFunc(s.instances, func(a, b *observe.Instance) int { return rank(a) - rank(b) })
}
