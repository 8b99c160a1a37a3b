package controller

import (
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// logEvent writes to the log of the program what it says of an event.
func (l *loop) logEvent(e Event) {
	switch e := e.(type) {
	case Signalled:
		l.logSignals(e)
	case Probed:
		l.logProbe(&e)
	case Published:
		l.logPublished(&e)
	default:
		if line := lineOf(e); line.says != "" {
			l.Log.V(line.level).Info(line.says, append([]any{"workload", workload(e.EventKey())}, line.about...)...)
		}
	}
}

// line is what the log of the program says of an event: always the same words, and
// the keys and values that follow the workload.
type line struct {
	level int
	says  string // "" for nothing
	about []any
}

// lineOf gives what is said of an event that says all by itself.
func lineOf(e Event) line {
	switch e := e.(type) {
	case Started:
		return line{0, "started", []any{"pid", e.Instance.Main.PID, "instance", e.Instance.ID, "reason", e.Reason, "scope", e.Instance.Scope.Mode}}
	case StartFailed:
		return line{detail(e.Planned), "cannot start", []any{"reason", e.Reason, "cause", e.Message}} // why it was stopped was said
	case Adopted:
		return line{0, "adopted", []any{"pid", e.Instance.Main.PID, "instance", e.Instance.ID}}
	case StopAsked:
		return line{0, stopping(e.Kill), []any{"instance", e.ID, "reason", e.Reason}}
	case HookAsked:
		return line{0, "stopping, after its preStop hook", []any{"instance", e.ID, "reason", e.Reason}}
	case HookEnded:
		if e.Err != "" {
			return line{0, "the preStop hook failed; the stop goes on", []any{"instance", e.ID, "cause", e.Err}}
		}
	case ServerEnded:
		return line{0, "the server behind a bridge exited", []any{"instance", e.ID, "how", ended(&e.Termination), "restarts", e.Restarts}}
	case Gone:
		return line{1, "nothing is left", []any{"instance", e.ID}}
	case RestartAsked:
		return line{0, "restarting, as was asked for", nil}
	case SuspendAsked:
		return line{0, e.what(), nil}
	case GaveUp:
		return line{0, "gave up the new program; the former one runs on", []any{"hash", e.Hash, "cause", e.Message}}
	case Resolved:
		if e.Message != "" {
			return line{0, "cannot start the new program; the former one runs on", []any{"reason", e.Reason, "cause", e.Message}}
		}
	}
	return line{}
}

// detail is the level of what only those want to know who ask for it.
func detail(is bool) int {
	if is {
		return 1
	}
	return 0
}

// stopping says that a stop begins, or that patience has ended.
func stopping(kill bool) string {
	if kill {
		return "killing"
	}
	return "stopping"
}

// logExit says how a main process ended, with the last line that it wrote.
func (l *loop) logExit(e Exited) {
	l.Log.Info("exited", "workload", e.Key.String(), "pid", e.PID, "instance", e.ID,
		"how", ended(&e.Termination), "ran", e.Termination.FinishedAt.Sub(e.Termination.StartedAt).Round(time.Millisecond).String())
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
