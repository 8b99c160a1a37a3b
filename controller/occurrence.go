package controller

import (
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Occurrence is one line of the event log: one thing that happened, for people
// and their programs. Its field names are the same in the file and wherever it
// is shown, and do not change.
type Occurrence struct {
	Time time.Time      `json:"time"`
	Type OccurrenceType `json:"type"`
	// Key is the workload as people write it: MCPServer/files.
	Key      string        `json:"key"`
	Instance spec.Instance `json:"instance,omitempty"`
	// PID and StartTick are the process that it happened to: for a signal its
	// target, else the main process.
	PID       int    `json:"pid,omitempty"`
	StartTick uint64 `json:"startTick,omitempty"`
	// Group says that the signal went to the process group that PID leads.
	Group bool `json:"group,omitempty"`
	// Signal is the one that was sent, or the one that ended the process.
	Signal string `json:"signal,omitempty"`
	// ExitCode is nil where there is none, or none is known.
	ExitCode *int        `json:"exitCode,omitempty"`
	Hash     spec.Hash   `json:"hash,omitempty"`
	Reason   spec.Reason `json:"reason,omitempty"`
	// Evidence says in words why the process was taken for what it was.
	Evidence []string `json:"evidence,omitempty"`
	// Result is what came of it: "sent", or why a signal was not.
	Result string `json:"result,omitempty"`
	// Message is one line for a person.
	Message string `json:"message,omitempty"`
}

// OccurrenceType is what happened.
type OccurrenceType string

// What can happen.
const (
	HasStarted    OccurrenceType = "Started"
	HasNotStarted OccurrenceType = "StartFailed"
	WasAdopted    OccurrenceType = "Adopted"
	WasSignalled  OccurrenceType = "Signalled"
	// WasRefused is a signal that was not sent, or a replacement that was not
	// begun.
	WasRefused OccurrenceType = "Refused"
	HasExited  OccurrenceType = "Exited"
	HasWritten OccurrenceType = "Output" // the last line of what has exited
	// The server behind a bridge ended, which starts it again.
	ServerHasExited OccurrenceType = "ServerExited"
	IsGone          OccurrenceType = "Gone" // nothing of the instance is left
	// An agent was told where its MCP servers are, or could not be.
	HasPublished    OccurrenceType = "Published"
	HasNotPublished OccurrenceType = "PublishFailed"
	// The verdict of a probe has changed; Message names the probe.
	ProbeSucceeds OccurrenceType = "ProbeSucceeds"
	ProbeFails    OccurrenceType = "ProbeFails"
	// A hook before a stop was done, or failed, which keeps the stop from nothing.
	HookHasEnded  OccurrenceType = "PreStop"
	HookHasFailed OccurrenceType = "PreStopFailed"
	// Somebody asked for a restart, or to suspend or resume at runtime.
	RestartWasAsked OccurrenceType = "RestartAsked"
	WasSuspended    OccurrenceType = "Suspended"
	WasResumed      OccurrenceType = "Resumed"
)

// resultSent is the Result of a signal that was sent.
const resultSent = "sent"

// OccurrencesOf gives the lines that an event leaves in the event log: one for
// most, one for each target of a signal, none for what is of use only to the
// loop.
func OccurrencesOf(e Event) []Occurrence {
	switch e := e.(type) {
	case Started:
		return one(Occurrence{Time: e.At, Type: HasStarted, Reason: e.Reason}.of(e.Key, &e.Instance))
	case StartFailed:
		failed := Occurrence{Time: e.At, Type: HasNotStarted, Key: e.Key.String(), Hash: e.Hash, Reason: e.Reason, Message: e.Message}
		return append(sentOccurrences(e.Sent, Occurrence{Time: e.At, Key: failed.Key, Reason: e.Reason}), failed)
	case Adopted:
		return one(Occurrence{Time: e.At, Type: WasAdopted, Reason: spec.ReasonAdopted, Evidence: e.Evidence}.of(e.Key, &e.Instance))
	case Exited:
		return one(exitOccurrence(e))
	case ServerEnded:
		return one(e.occurrence())
	case Output:
		if e.Line == "" {
			return nil
		}
		return one(Occurrence{Time: e.At, Type: HasWritten, Key: e.Key.String(), Instance: e.ID, Message: e.Line})
	case Signalled:
		return signalOccurrences(e)
	case GaveUp:
		return one(Occurrence{
			Time: e.At, Type: WasRefused, Key: e.Key.String(), Hash: e.Hash, Reason: spec.ReasonDeadlineExceeded,
			Result: "not replaced", Message: e.Message + "; the former one runs on",
		})
	case HookEnded:
		return one(e.occurrence())
	case RestartAsked:
		return one(Occurrence{Time: e.At, Type: RestartWasAsked, Key: e.Key.String()})
	case SuspendAsked:
		return one(e.occurrence())
	case Gone:
		return one(Occurrence{Time: e.At, Type: IsGone, Key: e.Key.String(), Instance: e.ID})
	case Resolved:
		if e.Message == "" {
			return nil
		}
		return one(Occurrence{
			Time: e.At, Type: WasRefused, Key: e.Key.String(), Hash: e.Hash, Reason: e.Reason,
			Result: "not replaced", Message: e.Message + "; the former one runs on",
		})
	}
	return nil
}

func one(o Occurrence) []Occurrence { return []Occurrence{o} }

// of fills in what an instance says.
func (o Occurrence) of(k spec.Key, r *InstanceRecord) Occurrence {
	o.Key, o.Instance, o.Hash = k.String(), r.ID, r.Hash
	o.PID, o.StartTick = r.Main.PID, r.Main.Start
	var parts []string
	if r.Scope.Mode != "" {
		parts = append(parts, "scope "+scopeText(r.Scope))
	}
	if len(r.Ports) > 0 {
		parts = append(parts, "ports "+r.Ports.String())
	}
	o.Message = strings.Join(parts, ", ")
	return o
}

func exitOccurrence(e Exited) Occurrence {
	t := e.Termination
	o := Occurrence{
		Time: t.FinishedAt, Type: HasExited, Key: e.Key.String(), Instance: e.ID, PID: e.PID, StartTick: e.StartTick,
		Hash: e.Hash, Reason: t.Reason, Signal: t.Signal, Message: ended(&t),
	}
	if t.Signal == "" && t.ExitCode >= 0 {
		o.ExitCode = &t.ExitCode
	}
	return o
}

// occurrence is the line that a change of verdict leaves.
func (e *Probed) occurrence(t OccurrenceType) Occurrence {
	o := Occurrence{
		Time: e.At, Type: t, Key: e.Key.String(), Instance: e.ID, PID: e.Main.PID, StartTick: e.Main.Start,
		Reason: spec.ReasonReady, Message: e.Kind.String(),
	}
	if e.Err != "" {
		o.Reason, o.Message = spec.ReasonProbeFailed, e.Kind.String()+": "+e.Err
	}
	return o
}

// signalOccurrences gives one line for each target. A signal that could not be
// sent to anything at all has one, too.
func signalOccurrences(e Signalled) []Occurrence {
	common := Occurrence{Time: e.At, Key: e.Key.String(), Instance: e.ID, Reason: e.Reason}
	if len(e.Sent) == 0 && e.Err != "" {
		common.Type, common.Result = WasRefused, e.Err
		return one(common)
	}
	return sentOccurrences(e.Sent, common)
}

// sentOccurrences gives one line for each signal, with what is common to all.
func sentOccurrences(sent []observe.Sent, common Occurrence) (all []Occurrence) {
	for i := range sent {
		s, o := &sent[i], common
		o.PID, o.StartTick, o.Group = s.Target.PID, s.Target.Start, s.Group
		o.Signal, o.Evidence = spec.SignalName(s.Signal), s.Evidence
		o.Type, o.Result = WasSignalled, resultSent
		if s.Err != "" {
			o.Type, o.Result = WasRefused, s.Err
		}
		all = append(all, o)
	}
	return all
}
