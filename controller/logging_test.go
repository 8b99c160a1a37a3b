package controller

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestWhatIsKeptCanBeRead: of each event that is written to the ledger, the next
// controller has the same.
func TestWhatIsKeptCanBeRead(t *testing.T) {
	in := recordOf(instance(files, "a", 9), true)
	kept := []Event{
		StartAsked{Key: files},
		Started{Key: files, Instance: in, At: t0},
		StartFailed{Key: files},
		Adopted{Key: files, Instance: in},
		PolicyNoted{Key: files},
		Exited{Key: files},
		ServerEnded{Key: files},
		Gone{Key: files},
		Forgotten{Key: files},
		GaveUp{Key: files},
		Reconsidered{Key: files},
		RestartAsked{Key: files},
		SuspendAsked{Key: files},
	}
	for _, e := range kept {
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if back := decodeEvent(eventType(e), raw); !restores(e) || reflect.TypeOf(back) != reflect.TypeOf(e) || back.EventKey() != files {
			t.Errorf("%T: kept: %v; read back: %T", e, restores(e), back)
		}
	}
	for _, e := range []Event{StopAsked{Key: files}, Signalled{Key: files}, Probed{Key: files}, HookAsked{Key: files}, Resolved{Key: files}} {
		if restores(e) {
			t.Errorf("%T is kept, and restores nothing", e)
		}
	}
}

func TestLineOf(t *testing.T) {
	for _, tt := range []struct {
		e     Event
		level int
		says  string
		keys  []string
	}{
		{Started{}, 0, "started", []string{"pid", "instance", "reason", "scope"}},
		{StartFailed{}, 0, "cannot start", []string{"reason", "cause"}},
		{StartFailed{Planned: true}, 1, "cannot start", []string{"reason", "cause"}},
		{Adopted{}, 0, "adopted", []string{"pid", "instance"}},
		{StopAsked{}, 0, "stopping", []string{"instance", "reason"}},
		{StopAsked{Kill: true}, 0, "killing", []string{"instance", "reason"}},
		{HookAsked{}, 0, "stopping, after its preStop hook", []string{"instance", "reason"}},
		{HookEnded{}, 0, "", nil},
		{HookEnded{Err: "x"}, 0, "the preStop hook failed; the stop goes on", []string{"instance", "cause"}},
		{ServerEnded{}, 0, "the server behind a bridge exited", []string{"instance", "how", "restarts"}},
		{Gone{}, 1, "nothing is left", []string{"instance"}},
		{RestartAsked{}, 0, "restarting, as was asked for", nil},
		{SuspendAsked{}, 0, SuspendAsked{}.what(), nil},
		{GaveUp{}, 0, "gave up the new program; the former one runs on", []string{"hash", "cause"}},
		{Resolved{}, 0, "", nil},
		{Resolved{Message: "x"}, 0, "cannot start the new program; the former one runs on", []string{"reason", "cause"}},
		{Exited{}, 0, "", nil}, // said when its last line is known
	} {
		got := lineOf(tt.e)
		if got.level != tt.level || got.says != tt.says || len(got.about) != 2*len(tt.keys) {
			t.Errorf("%+v: %+v", tt.e, got)
			continue
		}
		for i, key := range tt.keys {
			if got.about[2*i] != key {
				t.Errorf("%+v: %v, want %q", tt.e, got.about, key)
			}
		}
	}
}
