package controller

import (
	"encoding/json"
	"fmt"
	"time"
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
	if restores(e) {
		l.Ledger.Append(newRecord(e, l.Boot))
	}
	l.logEvent(e)
}

// restores says that a history is restored from such an event, among others: who
// stops an instance may not be who started it, and may not know the manifest.
func restores(e Event) bool {
	switch e.(type) {
	case StartAsked, Started, StartFailed, Adopted, PolicyNoted, Exited, ServerEnded, Gone,
		Forgotten, GaveUp, Reconsidered, RestartAsked, SuspendAsked:
		return true
	}
	return false
}
