package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// bigWorld has n workloads of which live run as wanted and the others are
// suspended.
func bigWorld(n, live int) World {
	w := world()
	suspended := func(s *spec.Spec) { s.Suspend = true }
	var events []Event
	for i := range n {
		k := spec.Key{Kind: spec.KindMCPServer, Name: fmt.Sprintf("w%05d", i)}
		if i >= live {
			w.Desired.Entries = append(w.Desired.Entries, entry(k, "a", suspended))
			continue
		}
		w.Desired.Entries = append(w.Desired.Entries, entry(k, "a"))
		in := instance(k, "a", i)
		w.Observed.Instances = append(w.Observed.Instances, in)
		events = append(events, Started{Key: k, Instance: recordOf(in, true), At: t0.Add(-time.Hour)}, WentWell{Key: k, ID: in.ID})
	}
	w.History = w.History.With(events...)
	return w
}

func BenchmarkDecide(b *testing.B) {
	for _, size := range [][2]int{{1, 1}, {1000, 1000}, {10000, 1000}} {
		w := bigWorld(size[0], size[1])
		b.Run(fmt.Sprintf("%d-of-%d-live", size[1], size[0]), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p := Decide(w); len(p.Actions) > 0 {
					b.Fatal(said(p))
				}
			}
		})
	}
}

// Each of a thousand workloads depends on another one, which costs a live one
// nothing; or waits for one that is never there.
func BenchmarkDecideWithDependencies(b *testing.B) {
	for name, change := range map[string]func(*World, *spec.Entry, spec.Key){
		"satisfied": func(_ *World, e *spec.Entry, on spec.Key) { dependsOn("", on)(&e.Object.Spec) },
		"restart":   func(_ *World, e *spec.Entry, on spec.Key) { restartsWith(on)(&e.Object.Spec) },
		"waiting": func(w *World, e *spec.Entry, on spec.Key) {
			w.Observed.Instances = nil
			w.History = History{}
			dependsOn("", on)(&e.Object.Spec)
		},
	} {
		w := bigWorld(1000, 1000)
		before := spec.Key{Kind: spec.KindMCPServer, Name: "nowhere"}
		if name != "waiting" {
			before = w.Desired.Entries[0].Key
			w.Observed.Instances[0].LastMain.Start = 0
		}
		for _, e := range w.Desired.Entries[1:] {
			change(&w, e, before)
			before = e.Key
		}
		if name == "waiting" {
			w.Desired.Entries = w.Desired.Entries[1:]
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p := Decide(w); len(p.Actions) > 0 {
					b.Fatal(said(p))
				}
			}
		})
	}
}

// Workloads that are probed and well cost a little more.
func BenchmarkDecideProbed(b *testing.B) {
	w := bigWorld(1000, 1000)
	for i, e := range w.Desired.Entries {
		probing("readiness", "liveness")(&e.Object.Spec)
		for _, kind := range []ProbeKind{Readiness, Liveness} {
			id := w.Observed.Instances[i].ID
			for _, at := range []time.Time{t0.Add(-time.Minute), t0} {
				w.History = w.History.With(
					ProbeAsked{Key: e.Key, ID: id, Kind: kind, At: at},
					Probed{Key: e.Key, ID: id, Kind: kind, At: at, Successes: 1, Failures: 1})
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if p := Decide(w); len(p.Actions) > 0 {
			b.Fatal(said(p))
		}
	}
}

func BenchmarkReport(b *testing.B) {
	for _, size := range [][2]int{{1, 1}, {1000, 1000}, {10000, 1000}} {
		w := bigWorld(size[0], size[1])
		p := Decide(w)
		b.Run(fmt.Sprintf("%d-of-%d-live", size[1], size[0]), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Report(w, p)
			}
		})
	}
}

func BenchmarkHistoryWith(b *testing.B) {
	w := bigWorld(1000, 1000)
	in := w.Observed.Instances[500]
	e := StopAsked{Key: in.Key, ID: in.ID, At: t0}
	b.ReportAllocs()
	for b.Loop() {
		w.History.With(e)
	}
}

func BenchmarkSnapshotWithExit(b *testing.B) {
	w := bigWorld(1000, 1000)
	e := observe.Exit{Ident: w.Observed.Instances[500].LastMain, At: t0}
	b.ReportAllocs()
	for b.Loop() {
		w.Observed.WithExit(e)
	}
}
