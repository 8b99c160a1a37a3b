package controller

import (
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// hand takes an action of the plan, and notes that it is in flight.
func (l *loop) hand(a Action, now time.Time) {
	switch a.Type {
	case Look:
		l.scan(observe.Look)
		return
	case Listen:
		l.listen(a.Ports)
		return
	case Probe:
		l.handProbe(a, now)
		return
	case Note:
		l.note(a.Event)
		return
	case PreStop:
		l.handHook(a, now)
		return
	case Praise:
		l.praise(a.Key, a.Instance.ID)
		return
	case Start:
		a.Token = newToken()
		if k := l.world.History.Of(a.Key); k != nil {
			a.Prefer = k.Ports
		}
		l.note(StartAsked{
			Key: a.Key, Token: a.Token, Hash: a.Entry.Hash, At: now,
			Policy: policyOf(&a.Entry.Object.Spec), DependsOn: dependenciesOf(a.Entry), Beside: a.Beside,
		})
	case Resolve:
		l.note(Resolving{a.Key})
	case Publish:
		l.fold(Publishing{a.Key})
	case Stop, Kill:
		l.endHook(a.Instance.ID)
		l.note(StopAsked{
			Key: a.Key, ID: a.Instance.ID, Kill: a.Type == Kill, Reason: a.Reason, At: now,
			Policy: a.Policy, Targets: members(a.Instance),
		})
	}
	l.queue = append(l.queue, a)
}

func members(in *observe.Instance) (ids []observe.Ident) {
	for _, m := range in.Members {
		ids = append(ids, m.Ident)
	}
	return ids
}

// newToken is the random part of an instance's name: 60 bits in lower case.
func newToken() string { return strings.ToLower(rand.Text()[:12]) }

// aside does something outside the loop and posts its outcome back.
func (l *loop) aside(f func() outcome) {
	l.outside++
	l.running.Go(func() {
		o := f()
		select {
		case l.outcomes <- func(l *loop) { l.outside--; o(l) }:
		case <-l.ended: // nobody asks any more
		}
	})
}

// work runs what was handed out, as far as there is room.
func (l *loop) work() {
	l.probe()
	l.runHooks()
	n := min(maxInFlight-l.inFlight, len(l.queue))
	for _, a := range l.queue[:n] {
		l.inFlight++
		l.aside(func() outcome {
			o := l.carryOut(a)
			return func(l *loop) { l.inFlight--; o(l) }
		})
	}
	l.queue = append(l.queue[:0], l.queue[n:]...)
}

// carryOut does one action, outside the loop, and says what came of it.
func (l *loop) carryOut(a Action) outcome {
	switch a.Type {
	case Start:
		began := time.Now()
		in, err := l.Actuator.Start(a.Entry, a.Token, a.Prefer)
		l.Instruments.Spawned(time.Since(began), err)
		return func(l *loop) { l.started(a, in, err) }
	case Resolve:
		reason, message, _ := startError(l.Actuator.Resolve(a.Entry))
		return func(l *loop) {
			l.note(Resolved{Key: a.Key, Hash: a.Entry.Hash, Reason: reason, Message: message, At: time.Now()})
		}
	case Publish:
		e := l.publish(a)
		return func(l *loop) { l.note(e) }
	default: // Stop, Kill
		sent, err := l.Actuator.Signal(a.Instance, a.Signal, a.Policy.Mode)
		return func(l *loop) {
			e := Signalled{Key: a.Key, ID: a.Instance.ID, Reason: a.Reason, Sent: sent, At: time.Now()}
			if err != nil {
				e.Err = err.Error()
			}
			l.note(e)
		}
	}
}

// startError splits an error of a start into reason, message and the signals
// that it took.
func startError(err error) (reason spec.Reason, message string, sent []observe.Sent) {
	if err == nil {
		return "", "", nil
	}
	reason = spec.ReasonSpawnFailed
	if se, ok := errors.AsType[StartError](err); ok {
		reason, sent = se.StartReason(), se.SignalsSent()
	}
	return reason, err.Error(), sent
}

// started takes the outcome of a start.
func (l *loop) started(a Action, in *observe.Instance, err error) {
	if err != nil {
		e := StartFailed{Key: a.Key, Token: a.Token, Hash: a.Entry.Hash, At: time.Now(), Planned: l.stoppedInStart(a)}
		e.Reason, e.Message, e.Sent = startError(err)
		l.note(e)
		l.change(func(s observe.Snapshot) observe.Snapshot { return s.WithFailedStart(e.Token, e.At) })
		return
	}
	l.change(func(s observe.Snapshot) observe.Snapshot { return s.WithStarted(in) })
	r := recordOf(in, true)
	r.Policy, r.Entry, r.Program = policyOf(&a.Entry.Object.Spec), a.Entry, in.Program
	l.note(Started{Key: a.Key, Token: a.Token, Instance: r, At: time.Now(), Reason: a.Reason})
	l.watched(a.Key, r)
}

// recordOf is what is remembered of an instance.
func recordOf(in *observe.Instance, handle bool) InstanceRecord {
	return InstanceRecord{
		ID: in.ID, Main: in.LastMain, Hash: in.Hash, OnExit: in.OnExit, Scope: in.Scope,
		Ports: in.Ports, Log: in.Log, StartedAt: in.StartedAt, Handle: handle, UID: in.UID,
	}
}

// watched notes whose end an exit will be; it may have come already.
func (l *loop) watched(k spec.Key, r InstanceRecord) {
	l.mains[r.Main] = mainOf{k, r}
	if e, ok := l.early[r.Main]; ok {
		delete(l.early, r.Main)
		l.exited(e)
	}
}

// exited takes the end of a main process.
func (l *loop) exited(e observe.Exit) {
	of, ok := l.mains[e.Ident]
	if !ok {
		l.early[e.Ident] = e
		return
	}
	delete(l.mains, e.Ident)
	if !e.Alone {
		l.change(func(s observe.Snapshot) observe.Snapshot { return s.WithExit(e) })
	}
	exit := Exited{
		Key: of.key, ID: of.ID, Hash: of.Hash, PID: e.PID, StartTick: e.Start,
		Termination: termination(e, of.StartedAt, l.successCodes(of.key)), ResetAfter: l.resetAfter(of.key),
	}
	q := l.inquire(&exit, of.InstanceRecord, e.OOM)
	planned := l.planned(of)
	st := l.world.History.Of(of.key).stop(of.ID)
	switch {
	case planned:
		exit.Termination.Reason = spec.ReasonStopped // the ledger has no record of the stop itself
	case st != nil && st.Reason != spec.ReasonMainGone: // it was given up
		exit.Termination.Reason, exit.Termination.Message = st.Reason, q.Probe
	}
	l.note(exit)
	l.praiseEnded(&exit, q.run, st)
	if e.Alone {
		l.change(func(s observe.Snapshot) observe.Snapshot { return s.WithoutInstance(of.ID) })
		l.release(of.key, of.InstanceRecord)
	}
	if planned {
		l.logExit(exit)
		return
	}
	l.lastWords(exit, q)
}

// planned says that the end of a main process is our doing. On the way out that
// is so of all that dies with the controller: the signal of a guard's comes
// after the one that the kernel has sent. A stop of what an ended main process
// has left does not make its end a planned one: a scan may show the end before
// the exit is told of.
func (l *loop) planned(of mainOf) bool {
	st := l.world.History.Of(of.key).stop(of.ID)
	return st != nil && !unplanned(st.Reason) || l.world.Down ||
		l.world.Shutdown != NotShuttingDown && of.OnExit == spec.ExitStop
}

// unplanned says that a stop is no wish of anybody's: what it ends counts as a
// crash.
func unplanned(r spec.Reason) bool {
	_, givenUp := givenUpBy(r)
	return givenUp || r == spec.ReasonMainGone
}

// stoppedInStart says that a start which has failed was ended by our doing: what
// waits for its scope is seen, and so can be stopped, before its start is over.
func (l *loop) stoppedInStart(a Action) bool {
	l.foldNoted()
	k := l.world.History.Of(a.Key)
	return l.world.Down || l.world.Shutdown != NotShuttingDown && a.Entry.Object.Spec.OnControllerExit != spec.ExitKeep ||
		k != nil && slices.ContainsFunc(k.Stops, func(s StopState) bool { return s.ID.Token() == a.Token && !unplanned(s.Reason) })
}

// resetAfter is the healthy stretch of a key, by its manifest.
func (l *loop) resetAfter(k spec.Key) time.Duration {
	if e := l.world.Desired.Lookup(k); e != nil && e.Object != nil {
		return time.Duration(e.Object.Spec.Backoff.ResetAfter)
	}
	return 0
}

// successCodes are the exit codes that mean success for a key beside 0, by its
// manifest.
func (l *loop) successCodes(k spec.Key) []int32 {
	if e := l.world.Desired.Lookup(k); e != nil && e.Object != nil {
		return e.Object.Spec.SuccessExitCodes
	}
	return nil
}

func termination(e observe.Exit, started time.Time, success []int32) spec.Termination {
	t := spec.Termination{ExitCode: e.Code, StartedAt: started, FinishedAt: e.At, Output: e.Message}
	switch {
	case !e.Known:
		t.ExitCode, t.Reason = -1, spec.ReasonUnknown
	case e.OOM:
		t.Reason = spec.ReasonOOMKilled
	case e.Signal == 0 && (e.Code == 0 || slices.Contains(success, int32(e.Code))):
		t.Reason = spec.ReasonCompleted
	default:
		t.Reason = spec.ReasonError
	}
	if e.Signal != 0 {
		t.ExitCode, t.Signal = -1, spec.SignalName(e.Signal)
	}
	return t
}
