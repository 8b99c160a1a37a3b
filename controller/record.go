package controller

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// record is how an event stands in the ledger: one line of JSON. How it stands
// in the event log, OccurrencesOf says.
type record struct {
	Type  string    `json:"type"`
	Time  time.Time `json:"time"`
	Boot  string    `json:"boot,omitempty"`
	Event Event     `json:"event"`
}

func newRecord(e Event, boot string) record {
	return record{Type: eventType(e), Time: time.Now(), Boot: boot, Event: e}
}

func eventType(e Event) string {
	switch e.(type) {
	case StartAsked:
		return "StartAsked"
	case Started:
		return "Started"
	case StartFailed:
		return "StartFailed"
	case Adopted:
		return "Adopted"
	case PolicyNoted:
		return "PolicyNoted"
	case Exited:
		return "Exited"
	case ServerEnded:
		return "ServerEnded"
	case Signalled:
		return "Signalled"
	case Gone:
		return "Gone"
	case Remembered:
		return "Remembered"
	case Forgotten:
		return "Forgotten"
	case GaveUp:
		return "GaveUp"
	case Reconsidered:
		return "Reconsidered"
	case RestartAsked:
		return "RestartAsked"
	case SuspendAsked:
		return "SuspendAsked"
	}
	return fmt.Sprintf("%T", e)
}

// Restore folds the lines of a ledger into a history. Idents of another boot
// mean nothing now, so instances of one are forgotten; counts stay. A line that
// cannot be understood is passed over: the ledger is a hint.
func Restore(boot string, lines func(yield func(line []byte) bool)) History {
	var events []Event
	for line := range lines {
		var r struct {
			Type  string          `json:"type"`
			Boot  string          `json:"boot"`
			Event json.RawMessage `json:"event"`
		}
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		e := decodeEvent(r.Type, r.Event)
		if e == nil {
			continue
		}
		events = append(events, e)
		if r.Boot != boot {
			events = append(events, Rebooted{e.EventKey()})
		}
	}
	return History{}.With(events...).settled()
}

// settled forgets what was in flight.
func (h History) settled() History {
	for _, k := range h.keys {
		k.Starting = nil // no other value shares it: With has made it
	}
	return h
}

func decodeEvent(kind string, raw []byte) Event {
	switch kind {
	case "StartAsked":
		return decoded[StartAsked](raw)
	case "Started":
		return decoded[Started](raw)
	case "StartFailed":
		return decoded[StartFailed](raw)
	case "Adopted":
		return decoded[Adopted](raw)
	case "PolicyNoted":
		return decoded[PolicyNoted](raw)
	case "Exited":
		return decoded[Exited](raw)
	case "ServerEnded":
		return decoded[ServerEnded](raw)
	case "Gone":
		return decoded[Gone](raw)
	case "Remembered":
		return decoded[Remembered](raw)
	case "Forgotten":
		return decoded[Forgotten](raw)
	case "GaveUp":
		return decoded[GaveUp](raw)
	case "Reconsidered":
		return decoded[Reconsidered](raw)
	case "RestartAsked":
		return decoded[RestartAsked](raw)
	case "SuspendAsked":
		return decoded[SuspendAsked](raw)
	}
	return nil
}

func decoded[E Event](raw []byte) Event {
	var e E
	if json.Unmarshal(raw, &e) != nil || e.EventKey().Name == "" {
		return nil
	}
	return e
}

// record writes an event to the ledger, if it is needed to restore the history,
// to the event log, and to the log of the program.
func (l *loop) record(e Event) {
	l.Instruments.Happened(e)
	for _, o := range OccurrencesOf(e) {
		l.Events.Append(o)
	}
	switch e := e.(type) {
	case StartAsked:
		l.Ledger.Append(newRecord(e, l.Boot)) // who stops it may not be who started it
	case StopAsked:
		l.logStop(e)
	case HookAsked:
		l.Log.Info("stopping, after its preStop hook", "workload", e.Key.String(), "instance", e.ID, "reason", e.Reason)
	case HookEnded:
		if e.Err != "" {
			l.Log.Info("the preStop hook failed; the stop goes on", "workload", e.Key.String(), "instance", e.ID, "cause", e.Err)
		}
	case Started:
		l.Ledger.Append(newRecord(e, l.Boot))
		l.Log.Info("started", "workload", e.Key.String(), "pid", e.Instance.Main.PID,
			"instance", e.Instance.ID, "reason", e.Reason, "scope", e.Instance.Scope.Mode)
	case StartFailed:
		l.Ledger.Append(newRecord(e, l.Boot))
		log := l.Log
		if e.Planned {
			log = log.V(1) // why it was stopped was said
		}
		log.Info("cannot start", "workload", e.Key.String(), "reason", e.Reason, "cause", e.Message)
	case Adopted:
		l.Ledger.Append(newRecord(e, l.Boot))
		l.Log.Info("adopted", "workload", e.Key.String(), "pid", e.Instance.Main.PID, "instance", e.Instance.ID)
	case PolicyNoted:
		l.Ledger.Append(newRecord(e, l.Boot)) // who stops it may not know the manifest
	case Exited:
		l.Ledger.Append(newRecord(e, l.Boot))
	case ServerEnded:
		l.Ledger.Append(newRecord(e, l.Boot))
		l.Log.Info("the server behind a bridge exited", "workload", e.Key.String(), "instance", e.ID, "how", ended(&e.Termination), "restarts", e.Restarts)
	case Signalled:
		l.logSignals(e)
	case Gone:
		l.Ledger.Append(newRecord(e, l.Boot))
		l.Log.V(1).Info("nothing is left", "workload", e.Key.String(), "instance", e.ID)
	case RestartAsked:
		l.Ledger.Append(newRecord(e, l.Boot))
		l.Log.Info("restarting, as was asked for", "workload", e.Key.String())
	case SuspendAsked:
		l.Ledger.Append(newRecord(e, l.Boot))
		l.Log.Info(e.what(), "workload", e.Key.String())
	case Forgotten, Reconsidered:
		l.Ledger.Append(newRecord(e, l.Boot))
	case GaveUp:
		l.Ledger.Append(newRecord(e, l.Boot))
		l.Log.Info("gave up the new program; the former one runs on", "workload", e.Key.String(), "hash", e.Hash, "cause", e.Message)
	case Probed:
		l.logProbe(&e)
	case Published:
		l.logPublished(&e)
	case Resolved:
		if e.Message != "" {
			l.Log.Info("cannot start the new program; the former one runs on", "workload", e.Key.String(), "reason", e.Reason, "cause", e.Message)
		}
	}
}

// logExit says how a main process ended, with the last line that it wrote.
func (l *loop) logExit(e Exited) {
	l.Log.Info("exited", "workload", e.Key.String(), "pid", e.PID, "instance", e.ID,
		"how", ended(&e.Termination), "ran", e.Termination.FinishedAt.Sub(e.Termination.StartedAt).Round(time.Millisecond).String())
}

// logStop says that a stop begins, or that patience has ended.
func (l *loop) logStop(e StopAsked) {
	what := "stopping"
	if e.Kill {
		what = "killing"
	}
	l.Log.Info(what, "workload", workload(e.Key), "instance", e.ID, "reason", e.Reason)
}

// logSignals says what could not be signalled. Each signal that was sent stands
// in the event log, with its evidence.
func (l *loop) logSignals(e Signalled) {
	if e.Err != "" {
		l.Log.Info("cannot signal", "workload", workload(e.Key), "instance", e.ID, "reason", e.Reason, "cause", e.Err)
	}
	for i := range e.Sent {
		s := &e.Sent[i]
		if s.Err != "" {
			l.Log.Info("not signalled", "workload", workload(e.Key), "target", s.Target.PID, "signal", spec.SignalName(s.Signal), "reason", e.Reason, "cause", s.Err)
			continue
		}
		l.Log.V(1).Info("signalled", "workload", workload(e.Key), "target", s.Target.PID, "group", s.Group,
			"signal", spec.SignalName(s.Signal), "reason", e.Reason)
	}
}

// logScanError says once that the process table cannot be read, not each time.
func (l *loop) logScanError(err error) {
	if l.world.Observed.Err == nil {
		l.Log.Error(err, "cannot read the process table; nothing is decided until it can be read")
	}
}

// nameKept says at the end what was left running, on purpose or not.
func (l *loop) nameKept() {
	for _, in := range l.world.Observed.Instances {
		switch {
		case in.OnExit == spec.ExitKeep && in.Live() && !l.world.Down:
			l.Log.Info("left running", "workload", in.Key.String(), "pid", in.Main.PID, "instance", in.ID, "reason", spec.ReasonKept)
		case l.onlyDoubt(in):
			l.Log.Info("left alone, since it cannot be told", "workload", in.Key.String(), "instance", in.ID, "pid", in.Doubtful[0].PID, "command", in.Doubtful[0].Command)
		case in.Live() || len(in.Members) > 0:
			l.Log.Info("could not be stopped", "workload", in.Key.String(), "instance", in.ID, "what", l.leftOf(in))
		}
	}
	for _, p := range l.world.Observed.Unattributed {
		l.Log.Info("left running", "workload", workload(spec.Key{}), "pid", p.PID, "command", p.Command, "evidence", p.Evidence)
	}
}

func (l *loop) leftOf(in *observe.Instance) string {
	st := l.world.History.Of(in.Key).stop(in.ID)
	if st == nil {
		st = &StopState{}
	}
	return remains(in, st)
}
