package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// The wall clock was set back an hour between two lives of the controller: what
// the ledger dates into the future must not hold up a start until then.
func TestClockSetBackBetweenTwoRuns(t *testing.T) {
	now := time.Now()
	crashed := now.Add(time.Hour).Round(0)
	w := World{Now: now, History: History{}.With(
		Started{Key: files, Instance: InstanceRecord{ID: "x-1", Hash: "a", StartedAt: crashed}, At: crashed},
		Exited{Key: files, ID: "x-1", Hash: "a", Termination: spec.Termination{ExitCode: 1, Reason: spec.ReasonError, FinishedAt: crashed}},
		Gone{Key: files, ID: "x-1"},
	)}
	w.Desired.Complete, w.Observed.Complete, w.Observed.Began = true, true, now
	w.Desired.Entries = []*spec.Entry{entry(files, "a")}

	if p := Decide(w); len(p.Actions) > 0 || p.WakeAt.Before(now.Add(time.Hour)) {
		t.Fatalf("the case is none: %+v", p)
	}
	w.History = w.History.Clamped(now)
	p := Decide(w)
	if why := p.Why[files]; why.Reason != spec.ReasonBackOff || p.WakeAt.After(now.Add(time.Second)) {
		t.Errorf("waits until %v for %+v, want a second of back-off", p.WakeAt.Sub(now), why)
	}
	w.Now = now.Add(time.Second)
	if p = Decide(w); len(p.Actions) != 1 || p.Actions[0].Type != Start {
		t.Errorf("actions after the back-off: %+v", p.Actions)
	}
}

// A clock that is set, or a suspend, during the life of the controller moves
// nothing: all that is compared has a monotonic reading, which neither does.
func TestRestoredTimesAreMonotonic(t *testing.T) {
	now := time.Now()
	long := now.Add(-48 * time.Hour).Round(0)
	h := History{}.With(
		Started{Key: files, Instance: InstanceRecord{ID: "x-1", Hash: "a", StartedAt: long}},
		Exited{Key: files, ID: "w-1", Hash: "a", Termination: spec.Termination{ExitCode: 1, FinishedAt: long}},
	)
	k := h.Clamped(now).Of(files)
	for what, at := range map[string]time.Time{"crash": k.CrashedAt, "start": k.Instances[0].StartedAt} {
		if !strings.Contains(at.String(), " m=") {
			t.Errorf("the time of the %s has no monotonic reading: %v", what, at)
		}
		if !at.Equal(long) || now.Sub(at) != 48*time.Hour {
			t.Errorf("the time of the %s has become %v, was %v", what, at, long)
		}
	}
	if was := h.Of(files); was.Instances[0].StartedAt != long {
		t.Error("the history that was given has changed")
	}
	if got := (History{}).With(StartAsked{Key: files}).Clamped(now).Of(files); !got.CrashedAt.IsZero() {
		t.Errorf("a crash that never was is now at %v", got.CrashedAt)
	}
}

// A server whose start lies in the future, by a clock that was set back since,
// is not looked at without a pause.
func TestListenIntervalAfterAClockWasSetBack(t *testing.T) {
	if got := listenInterval(-time.Hour); got < time.Second {
		t.Errorf("looks every %v", got)
	}
}
