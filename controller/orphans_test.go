package controller

import (
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Orphans of nobody known are left alone while the controller lives, and go
// with it unless a Keep workload may have a part of itself among them.
func TestOrphansGoWithTheController(t *testing.T) {
	orphan, doubtful := process(7), process(8)
	doubtful.Verdict = observe.CannotTell
	left := func(w *World) { w.Observed.Unattributed = []*observe.Process{orphan, doubtful} }
	ends := func(w *World) { w.Shutdown = ShutdownGraceful }
	endsNow := func(w *World) { w.Shutdown = ShutdownNow }
	asked := func(ago time.Duration) func(*World) {
		return happened(
			StopAsked{At: t0.Add(-ago), Policy: usual, Reason: spec.ReasonShutdown, Targets: []observe.Ident{orphan.Ident}},
			Signalled{At: t0.Add(-ago)})
	}
	kept := instance(files, "a", 1)
	kept.OnExit = spec.ExitKeep
	for name, tt := range map[string]struct {
		world World
		want  string
	}{
		"while it runs":               {world(left), ""},
		"with a Keep workload":        {world(left, ends, runs(kept)), ""},
		"what cannot be told alone":   {world(ends, func(w *World) { w.Observed.Unattributed = []*observe.Process{doubtful} }), ""},
		"at its end":                  {world(left, ends), "Stop#orphans"},
		"beside a Stop workload":      {world(left, ends, runs(instance(files, "a", 1))), "Stop#orphans, Stop files#1"},
		"at once":                     {world(left, endsNow), "Kill#orphans"},
		"asked, and looked at since":  {world(left, ends, asked(1500*time.Millisecond)), "Look"},
		"the grace is over":           {world(left, ends, asked(11*time.Second)), "Kill#orphans"},
		"a process table in the dark": {world(left, ends, func(w *World) { w.Observed.Err = errTest }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := Decide(tt.world)
			got := ""
			for i, a := range p.Actions {
				if i > 0 {
					got += ", "
				}
				if a.Key == (spec.Key{}) && a.Instance != nil {
					got += a.Type.String() + "#orphans"
					if len(a.Instance.Members) != 1 || a.Instance.Members[0] != orphan {
						t.Errorf("meant for %v", a.Instance.Members)
					}
					continue
				}
				got += said(Plan{Actions: []Action{a}})
			}
			if got != tt.want {
				t.Errorf("actions: %s, want %s", got, tt.want)
			}
			if _, shown := Report(tt.world, p)[spec.Key{}]; shown {
				t.Error("orphans are shown as a workload")
			}
		})
	}
}
