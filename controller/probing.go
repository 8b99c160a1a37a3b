package controller

import (
	"context"
	"time"

	"github.com/proc-controller/proc-controller/observe"
)

// maxProbing bounds the attempts that are made at one time. They have a bound of
// their own, so that servers which do not answer delay no start and no stop.
const maxProbing = 256

// prober is what the loop keeps of attempts on their way.
type prober struct {
	queue  []Action
	flying int
	ctx    context.Context // ends with the loop
	cancel context.CancelFunc
}

// handProbe takes an attempt of the plan, and notes that it is in flight.
func (l *loop) handProbe(a Action, now time.Time) {
	l.fold(ProbeAsked{Key: a.Key, ID: a.Instance.ID, Kind: a.Kind, At: now})
	l.probing.queue = append(l.probing.queue, a)
}

// probe makes the attempts for which there is room.
func (l *loop) probe() {
	n := min(maxProbing-l.probing.flying, len(l.probing.queue))
	for _, a := range l.probing.queue[:n] {
		l.probing.flying++
		ctx := l.probing.ctx
		l.aside(func() outcome {
			e := l.attempt(ctx, a)
			return func(l *loop) {
				l.probing.flying--
				l.probed(e)
			}
		})
	}
	l.probing.queue = append(l.probing.queue[:0], l.probing.queue[n:]...)
}

// attempt makes one attempt, outside the loop.
func (l *loop) attempt(parent context.Context, a Action) Probed {
	probe := probeFor(&a.Entry.Object.Spec, a.Kind)
	e := Probed{
		Key: a.Key, ID: a.Instance.ID, Kind: a.Kind, Main: a.Instance.LastMain,
		Successes: int(probe.SuccessThreshold), Failures: int(probe.FailureThreshold),
	}
	ctx, cancel := context.WithTimeout(parent, probe.Timeout())
	defer cancel()
	began := time.Now()
	answer, err := l.Prober.Probe(ctx, observe.Question{
		Entry: a.Entry, Instance: a.Instance, Probe: probe, Verify: a.Kind == Verification,
	})
	e.Answer, e.At = answer, time.Now()
	if a.Kind == Liveness && aliveBehind(answer.Bridge) {
		err = nil
	}
	e.Void = e.At.Sub(began) > probe.Timeout()+sleptAfter || parent.Err() != nil
	if err != nil {
		e.Err = err.Error()
	}
	if !e.Void {
		l.Instruments.Probed(a.Kind, e.At.Sub(began), err != nil)
	}
	return e
}

// probed takes the outcome of an attempt. One that only says once more what is
// known is no reason to decide at once.
func (l *loop) probed(e Probed) {
	l.calm = l.world.History.Of(e.Key).probe(e.ID, e.Kind).steady(&e)
	if !l.calm {
		l.foldNoted()
		e.Void = e.Void || l.world.History.Of(e.Key).stop(e.ID) != nil // it fails for being stopped
		l.news = true
		l.record(e)
		if ended, ok := serverEnded(l.world.History.Of(e.Key), &e); ok {
			l.note(ended)
		}
	}
	l.fold(e)
}

// sleptAfter is how late the loop has to wake to take it that neither it nor,
// perhaps, the machine has run for a while.
const sleptAfter = 2 * time.Second

// noticeSleep has the time in which nothing ran left out of account. A machine
// that sleeps stops the monotonic clock, so the two readings of the time part; a
// program that is stopped wakes too late. A clock that was set looks like a
// sleep, and does no harm.
func (l *loop) noticeSleep(now time.Time) {
	before := l.awake
	l.awake = now
	if before.IsZero() || !slept(now.Sub(l.due), now.Round(0).Sub(before.Round(0)), now.Sub(before)) {
		return
	}
	l.foldNoted()
	for _, k := range l.world.History.keys {
		if len(k.Probes) > 0 {
			l.fold(Slept{Key: k.Key, At: now})
		}
	}
	l.Log.Info("awake again; probes have one period of grace")
}

// slept judges by how late the loop is, and by the time that has passed since it
// last ran: on the clock on the wall, and on the monotonic one.
func slept(late, wall, monotonic time.Duration) bool {
	return late > sleptAfter || wall-monotonic > sleptAfter
}

// logProbe says when a verdict changes.
func (l *loop) logProbe(e *Probed) {
	st, next := l.world.History.Of(e.Key).after(e)
	switch {
	case st == nil || next.Verdict == st.Verdict:
	case next.Verdict == Passing:
		log := l.Log
		if e.Kind != Readiness && st.Verdict == NotKnown {
			log = log.V(1) // one line says that it is there
		}
		log.Info("probe succeeds", "workload", e.Key.String(), "instance", e.ID, "probe", e.Kind.String())
		l.Events.Append(e.occurrence(ProbeSucceeds))
	default:
		l.Log.Info("probe fails", "workload", e.Key.String(), "instance", e.ID, "probe", e.Kind.String(), "cause", e.Err)
		l.Events.Append(e.occurrence(ProbeFails))
	}
}
