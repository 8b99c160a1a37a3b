package controller

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// reaped runs a reap over what the function has put into the machine, and gives
// the machine, its events and how long it took.
func reaped(t *testing.T, what Reap, history History, put func(m *machine)) (m *machine, events *ledger, took time.Duration) {
	t.Helper()
	events = &ledger{}
	synctest.Test(t, func(t *testing.T) {
		m = newMachine(5)
		m.set = setOf()
		put(m)
		c := m.controller(func(o *Options) {
			o.Reap, o.Source, o.Events, o.History = &what, nil, events, history
		})
		began := time.Now()
		if err := c.Run(t.Context()); err != nil {
			t.Error(err)
		}
		took = time.Since(began)
		synctest.Wait()
	})
	for _, f := range m.faults {
		t.Error(f)
	}
	return m, events, took
}

// putTree adds an instance with a member; a deaf one ignores the stop signal.
func (m *machine) putTree(k spec.Key, onExit spec.OnControllerExit, deaf bool) *simulated {
	main := m.spawn(simulated{key: k, id: spec.NewInstance("reapreapreap", uint64(m.pid+1)), hash: "h", main: true, onExit: onExit})
	m.spawn(simulated{key: k, id: main.id, hash: "h", onExit: onExit, deaf: deaf, lastMain: main.Ident})
	return main
}

func (m *machine) left(k spec.Key) (n int) {
	for _, p := range m.procs {
		if p.key == k {
			n++
		}
	}
	return n
}

func TestReapStopsWhatIsToStop(t *testing.T) {
	m, events, took := reaped(t, Reap{}, History{}, func(m *machine) {
		m.putTree(files, spec.ExitStop, true)
		m.putTree(other, spec.ExitKeep, false)
	})
	if m.left(files) != 0 || m.left(other) != 2 {
		t.Errorf("left are %d of 0 that stop and %d of 2 that are kept", m.left(files), m.left(other))
	}
	if took < defaultGrace || took > defaultGrace+5*time.Second {
		t.Errorf("it took %v, the grace being %v", took, defaultGrace)
	}
	signals := 0
	for _, line := range events.lines {
		var o Occurrence
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatal(err)
		}
		if o.Type == WasSignalled {
			signals++
			if o.Reason != spec.ReasonReaped || o.Key != files.String() {
				t.Errorf("a signal of a reap: %s", line)
			}
		}
	}
	if signals == 0 {
		t.Error("no signal stands in the event log")
	}
}

func TestReapWithKeepAndGrace(t *testing.T) {
	grace := 100 * time.Millisecond
	m, _, took := reaped(t, Reap{Keep: true, Grace: &grace}, History{}, func(m *machine) {
		m.putTree(files, spec.ExitStop, true)
		m.putTree(other, spec.ExitKeep, true)
	})
	if m.left(files)+m.left(other) != 0 {
		t.Errorf("left are %d and %d", m.left(files), m.left(other))
	}
	if took > 5*time.Second {
		t.Errorf("it took %v, the grace being %v", took, grace)
	}
}

func TestReapOfNothingEndsAtOnce(t *testing.T) {
	if _, _, took := reaped(t, Reap{Keep: true}, History{}, func(*machine) {}); took > time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestReapGivesTheGraceThatTheLedgerKnows(t *testing.T) {
	var main *simulated
	put := func(m *machine) { main = m.putTree(files, spec.ExitStop, true) }
	reaped(t, Reap{Keep: true}, History{}, put) // to learn the ident
	r := InstanceRecord{ID: main.id, Main: main.Ident, Hash: "h", OnExit: spec.ExitStop, Policy: StopPolicy{Signal: sigTerm, Grace: time.Minute}}
	_, _, took := reaped(t, Reap{}, History{}.With(Started{Key: files, Instance: r}), put)
	if took < time.Minute || took > time.Minute+5*time.Second {
		t.Errorf("it took %v, the grace being a minute", took)
	}
}

// A reap that cannot read the process table ends all the same, and has
// signalled nothing.
func TestReapWithoutAScan(t *testing.T) {
	m, _, took := reaped(t, Reap{Keep: true}, History{}, func(m *machine) {
		m.putTree(files, spec.ExitStop, false)
		m.failing = true
	})
	if m.left(files) != 2 || len(m.done()) > 0 || took > time.Minute {
		t.Errorf("%d of 2 are left after %v", m.left(files), took)
	}
}

func TestSpares(t *testing.T) {
	in := &observe.Instance{LastMain: observe.Ident{PID: 7}}
	for _, tt := range []struct {
		mode      spec.KillMode
		pgid, sid int
		want      bool
	}{{spec.KillTree, 8, 8, false}, {spec.KillGroup, 8, 8, true}, {spec.KillGroup, 7, 8, false}, {spec.KillGroup, 8, 7, false}} {
		m := &observe.Process{PGID: tt.pgid, SID: tt.sid}
		if got := (StopPolicy{Mode: tt.mode}).Spares(in, m); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
