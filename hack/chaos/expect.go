//go:build linux

package main

// expectation is how many main processes of a key there may be, and which
// revision they are of.
type expectation struct {
	work   *work // nil: none at all
	lo, hi int
	// steady: nothing gave a reason to restart, so it is the same processes as at
	// the last quiet point.
	steady bool
}

// fate is what has happened to a key and is not in the plan, because it depends
// on which processes were there to be hit.
type fate struct {
	rev   int
	ended int // mains that the restart policy does not start again
	// loose: how many of them the controller knows of cannot be said.
	loose bool

	// Of this round.
	hits     []hit
	restless bool // a main process may have been ended
	thawed   bool
}

// hit is a main process that was made to end.
type hit struct {
	rev      int
	finished bool // with exit code 0, else by a signal
	// starting: whether it had begun, and so has ended, cannot be said.
	starting bool
}

// expecter turns a round and what it hit into what must be so.
type expecter struct {
	fates [keys]fate
	keep  [keys]bool // as at the last quiet point
	// Of the round.
	restarted, crashed, forgot bool
}

// note takes an operation that was carried out; ended says which main process it
// has ended, if any.
func (x *expecter) note(o op, ended *hit) {
	switch o.kind {
	case opCrash, opCrashBoth:
		x.crashed = true
	case opRestart:
		x.restarted = true
	case opDropState:
		x.forgot = true
	case opThaw: // what was frozen may have had a signal waiting for it
		x.fates[o.key].restless, x.fates[o.key].thawed = true, true
	}
	if ended != nil {
		f := &x.fates[o.key]
		f.hits, f.restless = append(f.hits, *ended), true
	}
}

// settle gives what must be so at the quiet point of a round.
func (x *expecter) settle(r round) (es [keys]expectation) {
	for k, w := range r.want {
		f := &x.fates[k]
		kept := x.keep[k] && w != nil && w.keep
		steady := !f.restless && !r.altered[k] && (kept || !x.crashed && !x.restarted)
		x.judgeHits(f, w, r.altered[k])
		steady = steady && !f.loose // else what had ended may be started again
		es[k] = expectation{work: w, lo: w.wanted(), hi: w.wanted(), steady: steady}
		if f.ended > 0 || f.loose && w != nil && w.policy != "Always" {
			es[k].lo = max(0, w.wanted()-f.ended)
			es[k].hi = es[k].lo
			if f.loose {
				es[k].lo, es[k].hi = 0, w.wanted()
			}
		}
		x.keep[k] = w != nil && w.keep
	}
	x.restarted, x.crashed, x.forgot = false, false, false
	return es
}

// judgeHits counts the ends of a round that are not to be mended.
func (x *expecter) judgeHits(f *fate, w *work, altered bool) {
	hits, thawed := f.hits, f.thawed
	f.hits, f.restless, f.thawed = nil, false, false
	if w == nil {
		*f = fate{}
		return
	}
	if f.rev != w.rev {
		*f = fate{rev: w.rev}
	}
	for _, h := range hits {
		if h.starting {
			f.loose = f.loose || h.rev == w.rev
			continue
		}
		if h.rev == w.rev && (w.policy == "Never" || w.policy == "OnFailure" && h.finished) {
			f.ended++
			f.loose = f.loose || altered || x.crashed || x.restarted
		}
	}
	f.loose = f.loose || thawed || f.ended > 0 && (altered || x.forgot)
}
