package controller

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Decide compares what is wanted with what is there and says what to do. It is
// total and deterministic: the same world gives the same plan. It walks the
// three sorted inputs once, so that a key that is as wanted costs next to
// nothing.
//
// The rows of the design are in rows.go, in their order.
func Decide(w World) Plan {
	p := planner{w: &w, plan: Plan{Why: map[spec.Key]Reason{}}}
	if p.plan.Blocked = unobserved(&w); p.plan.Blocked.Reason != "" {
		return p.plan // row 1
	}
	for s := range situations(&w) {
		p.decide(s)
	}
	p.holdStops()
	p.stopOrphans()
	p.handOutAttempts()
	p.observe()
	slices.SortStableFunc(p.plan.Actions, func(a, b Action) int {
		if c := a.Key.Compare(b.Key); c != 0 {
			return c
		}
		return cmp.Compare(instanceID(a), instanceID(b))
	})
	return p.plan
}

func instanceID(a Action) spec.Instance {
	if a.Instance == nil {
		return ""
	}
	return a.Instance.ID
}

// unobserved says why nothing may be decided: row 1.
func unobserved(w *World) Reason {
	switch {
	case w.Observed.Err != nil:
		return Reason{Reason: spec.ReasonNotObserved, Detail: "cannot read the process table: " + w.Observed.Err.Error()}
	case !w.Observed.Complete:
		return Reason{Reason: spec.ReasonNotObserved, Detail: "the process table has not been read yet"}
	case !w.Desired.Complete:
		return Reason{Reason: spec.ReasonNotObserved, Detail: "the manifests have not been read yet"}
	}
	return Reason{}
}

// situation is what is known of one key.
type situation struct {
	key       spec.Key
	entry     *spec.Entry         // nil: no manifest names it
	instances []*observe.Instance // oldest first
	history   *KeyHistory         // nil: nothing happened yet
}

// situations walks manifests, instances and history together, in key order.
func situations(w *World) func(yield func(situation) bool) {
	return func(yield func(situation) bool) {
		entries, instances, history := w.Desired.Entries, w.Observed.Instances, w.History.keys
		for len(entries)+len(instances)+len(history) > 0 {
			var s situation
			s.key = least(entries, instances, history)
			if len(entries) > 0 && entries[0].Key == s.key {
				s.entry, entries = entries[0], entries[1:]
			}
			n := 0
			for n < len(instances) && instances[n].Key == s.key {
				n++
			}
			s.instances, instances = instances[:n], instances[n:]
			if len(history) > 0 && history[0].Key == s.key {
				s.history, history = history[0], history[1:]
			}
			if !yield(s) {
				return
			}
		}
	}
}

func least(entries []*spec.Entry, instances []*observe.Instance, history []*KeyHistory) spec.Key {
	var k spec.Key
	take := func(o spec.Key) {
		if k.Kind == "" || o.Compare(k) < 0 {
			k = o
		}
	}
	if len(entries) > 0 {
		take(entries[0].Key)
	}
	if len(instances) > 0 {
		take(instances[0].Key)
	}
	if len(history) > 0 {
		take(history[0].Key)
	}
	return k
}

// planner gathers the plan while the keys are walked.
type planner struct {
	w    *World
	plan Plan
	// look is set when an instance has ended and it is not yet proven that
	// nothing of it is left.
	look bool
	// listen are ports whose listeners have to be read.
	listen map[uint16]bool
	// attempts are those of probes that are due now or soon.
	attempts []attempt
	// dependencies are looked at only where somebody waits.
	dependencies *dependencyGraph
}

func (p *planner) act(a Action) { p.plan.Actions = append(p.plan.Actions, a) }

func (p *planner) why(k spec.Key, r Reason) {
	p.plan.Why[k] = r
	p.wake(r.Until)
}

// wake makes sure that the next decision is no later than t.
func (p *planner) wake(t time.Time) {
	if !t.IsZero() && (p.plan.WakeAt.IsZero() || t.Before(p.plan.WakeAt)) {
		p.plan.WakeAt = t
	}
}

// listener gives what is known of a port, on behalf of a workload that has been
// waiting for so long. What is too old for it is read again; fresh says that it
// may be acted upon.
func (p *planner) listener(port uint16, waited time.Duration) (l observe.Listener, fresh bool) {
	l = p.w.Observed.Listeners[port]
	next := l.At.Add(listenInterval(waited))
	if p.w.Now.Before(next) {
		p.wake(next)
		return l, true
	}
	if p.listen == nil {
		p.listen = map[uint16]bool{}
	}
	p.listen[port] = true
	return l, false
}

// observe adds the readings that the keys have asked for.
func (p *planner) observe() {
	if p.look {
		p.act(Action{Type: Look, Reason: spec.ReasonChecking})
	}
	if p.listen != nil {
		p.act(Action{Type: Listen, Ports: slices.Sorted(maps.Keys(p.listen)), Reason: spec.ReasonChecking})
	}
}
