package controller

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/proc-controller/proc-controller/spec"
)

// with gives a world whose manifests are changed.
func (w World) with(change func(*spec.Spec)) World {
	w.Desired.Entries = slices.Clone(w.Desired.Entries)
	for i, e := range w.Desired.Entries {
		if e.Object != nil {
			c, o := *e, *e.Object
			change(&o.Spec)
			c.Object = &o
			w.Desired.Entries[i] = &c
		}
	}
	return w
}

// independent is a world in which nothing depends on anything.
func independent(w World) World {
	w = w.with(func(s *spec.Spec) { s.DependsOn = nil })
	w.History = History{keys: slices.Clone(w.History.keys)}
	for i, k := range w.History.keys {
		w.History.keys[i] = k.clone()
		w.History.keys[i].DependsOn = nil
	}
	return w
}

// act names what an action does, and to what.
func (a Action) act() string { return fmt.Sprintf("%v %v %s", a.Type, a.Key, instanceID(a)) }

// Dependencies only ever hold something back: in any world nothing is started or
// signalled that would not be without them, but for the restarts that a manifest
// asks for; and what is held back is what they stand against.
func TestOrderOnlyHoldsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// What is implied by them is the same, and they have a file that is waited
		// for beside.
		w := aWorld(t).with(func(s *spec.Spec) { s.MCPServers = nil })
		p, free := Decide(w), Decide(independent(w))
		there := func(p Plan, a Action) bool {
			return slices.ContainsFunc(p.Actions, func(b Action) bool { return a.act() == b.act() })
		}
		for _, a := range p.Actions {
			switch {
			case a.Type == Start:
				checkDependencies(t, &w, a.Entry)
			case a.Reason == spec.ReasonDependencyRenewed:
				checkRenewed(t, &w, a)
				continue
			}
			if (a.Type <= Kill || a.Type == PreStop) && !there(free, a) {
				t.Errorf("%s, and not without dependencies: %s", a.act(), said(free))
			}
		}
		for _, a := range free.Actions {
			begins := a.Type == Stop || a.Type == PreStop
			if a.Type > Resolve && !begins || there(p, a) {
				continue
			}
			why := p.Why[a.Key]
			switch {
			case begins && why.Reason == spec.ReasonDependentsFirst:
				checkWaitsForDependents(t, &w, p, a)
			case a.Type == Kill, begins && a.Reason != spec.ReasonSpecChanged && a.Reason != spec.ReasonRestartAsked:
				t.Errorf("no %s: %s %s", a.act(), why.Reason, why.Detail)
			case w.Shutdown != NotShuttingDown:
				t.Errorf("no %s at shutdown", a.act())
			case satisfied(&w, a.Key) && !restarts(p, a.Key):
				t.Errorf("no %s although nothing stands against it: %s %s", a.act(), why.Reason, why.Detail)
			}
		}
	})
}

func restarts(p Plan, k spec.Key) bool {
	return slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Key == k && a.Reason == spec.ReasonDependencyRenewed })
}

func satisfied(w *World, k spec.Key) bool {
	for _, d := range w.Desired.Lookup(k).Object.Spec.Dependencies() {
		if w.unsatisfied(&d).Reason != "" {
			return false
		}
	}
	return true
}

// checkDependencies objects to a start whose dependencies are not there.
func checkDependencies(t *rapid.T, w *World, e *spec.Entry) {
	for _, d := range e.Object.Spec.DependsOn {
		on, h := w.Desired.Lookup(d.Key()), w.History.Of(d.Key())
		if on == nil || on.Object == nil || on.Gone() {
			t.Errorf("%v is started although no manifest stands for %v", e.Key, d.Key())
			continue
		}
		good := h != nil && h.Hash == on.Hash && h.Succeeded > 0 && d.Condition != spec.DependencyReady
		for _, in := range w.Observed.InstancesOf(d.Key()) {
			good = good || d.Condition != spec.DependencyCompleted && in.Live() && h.stop(in.ID) == nil
		}
		if !good {
			t.Errorf("%v is started although %v is not %s", e.Key, d.Key(), d.Condition)
		}
	}
}

// checkRenewed objects to a restart without a newer dependency, or in a circle
// of two.
func checkRenewed(t *rapid.T, w *World, a Action) {
	for _, d := range w.Desired.Lookup(a.Key).Object.Spec.DependsOn {
		back := w.Desired.Lookup(d.Key())
		if d.OnRestart != spec.OnRestartRestart || back == nil || back.Object == nil ||
			slices.ContainsFunc(back.Object.Spec.DependsOn, func(b spec.Dependency) bool { return b.Key() == a.Key }) {
			continue
		}
		for _, in := range w.Observed.InstancesOf(d.Key()) {
			if in.Live() && in.LastMain.Start > a.Instance.LastMain.Start {
				return
			}
		}
	}
	t.Errorf("%s, and nothing that it depends on is newer", a.act())
}

// checkWaitsForDependents objects to a stop that waits for nobody who goes.
func checkWaitsForDependents(t *rapid.T, w *World, p Plan, a Action) {
	for _, in := range w.Observed.Instances {
		if !slices.Contains(w.dependsOn(in.Key), a.Key) {
			continue
		}
		going := w.History.Of(in.Key).stop(in.ID) != nil || p.Why[in.Key].Reason != ""
		if going {
			return
		}
	}
	for _, k := range w.History.keys {
		if len(k.Starting) > 0 && slices.Contains(w.dependsOn(k.Key), a.Key) {
			return
		}
	}
	t.Errorf("%s waits: %s", a.act(), p.Why[a.Key].Detail)
}

// chain are workloads each of which depends on the one before.
func chain(n int, change ...func(*spec.Spec)) (es []*spec.Entry) {
	for i := range n {
		k := spec.Key{Kind: spec.KindAgent, Name: fmt.Sprintf("w%d", i)}
		e := entry(k, "a", change...)
		if i > 0 {
			restartsWith(es[i-1].Key)(&e.Object.Spec)
		}
		es = append(es, e)
	}
	return es
}

// firsts gives the first time that something was done to each workload.
func firsts(did []string, what string) (keys []string) {
	for _, d := range did {
		var k string
		if n, _ := fmt.Sscanf(d, what+" Agent/%s", &k); n == 1 && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// What depends on another starts after it, restarts after it, and goes before it.
func TestLoopKeepsOrder(t *testing.T) {
	for seed := range uint64(20) {
		faults := within(t, seed, func(m *machine, c *Controller) {
			expect := func(when, what string, want ...string) {
				if got := firsts(m.done(), what); !slices.Equal(got, want) {
					m.fault("%s: %s %v, want %v", when, what, got, want)
				}
			}
			m.publish(setOf(chain(3)...))
			wait(time.Minute)
			expect("a cold start", "start", "w0", "w1", "w2")
			m.crashMain("Agent/w0")
			wait(time.Minute)
			expect("a crash", "start", "w0", "w1", "w2")
			m.publish(setOf())
			wait(time.Minute)
			expect("removed", "signal", "w2", "w1", "w0")
			m.publish(setOf(chain(3)...))
			wait(time.Minute)
			m.done()
			began := time.Now()
			c.Shutdown(false)
			<-c.Done()
			if took := time.Since(began); took > 35*time.Second {
				m.fault("the shutdown took %v", took)
			}
			expect("shutdown", "signal", "w2", "w1", "w0")
		})
		for _, f := range faults {
			t.Errorf("seed %d: %s", seed, f)
		}
	}
}

// crashMain ends the main process of a workload.
func (m *machine) crashMain(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.procs {
		if p.main && p.key.String() == key {
			m.end(p, 1, 0)
		}
	}
}

// A wait for what is never there ends with an edit, a suspend or a removal, and
// what is in a circle ends with the controller.
func TestWaitCanBeInterrupted(t *testing.T) {
	faults := within(t, 1, func(m *machine, c *Controller) {
		runs := func(when string, want int) {
			wait(time.Minute)
			m.mu.Lock()
			defer m.mu.Unlock()
			if got := m.mains(agent); got != want {
				m.fault("%s: %d run, want %d", when, got, want)
			}
		}
		m.publish(setOf(entry(agent, "a", dependsOn("", files))))
		runs("waiting", 0)
		m.publish(setOf(entry(agent, "a")))
		runs("edited", 1)
		m.publish(setOf(entry(agent, "a", dependsOn("", files))))
		runs("nothing is stopped for it", 1)
		m.publish(setOf(entry(agent, "a", dependsOn("", files)), entry(files, "a", dependsOn("", agent))))
		runs("nor for a circle", 1)
		if v, err := c.View(context.Background()); err != nil || len(v.Workloads) != 2 || !v.Workloads[1].Status.Ready {
			m.fault("the other one of the circle: %v, %v", v.Workloads, err)
		}
	})
	for _, f := range faults {
		t.Error(f)
	}
}

// Dependencies are remembered with the ledger: those of a start, and those that
// an edit gives to what runs.
func TestDependenciesAreRemembered(t *testing.T) {
	for _, edited := range []bool{false, true} {
		var dependsOnWhat []spec.Key
		h := remembering(t, func(m *machine) {
			kept := func(s *spec.Spec) { s.OnControllerExit = spec.ExitKeep }
			on := files
			m.publish(setOf(entry(files, "a"), entry(other, "a"), entry(agent, "a", kept, dependsOn("", on))))
			wait(time.Minute)
			if edited {
				on = other
				m.publish(setOf(entry(files, "a"), entry(other, "a"), entry(agent, "a", kept, dependsOn("", on))))
				wait(time.Minute)
			}
			dependsOnWhat = []spec.Key{on}
		})
		if k := h.Of(agent); k == nil || !slices.Equal(k.DependsOn, dependsOnWhat) {
			t.Errorf("edited: %v: remembers %+v, want %v", edited, k, dependsOnWhat)
		}
	}
}

// orderings are further disturbances: what depends on what changes.
var orderings = []disturbance{
	{"depend", func(w *wishes) { w.relate(false) }},
	{"depend on anything", func(w *wishes) { w.relate(true) }},
	{"remove all", func(w *wishes) { clear(w.entries); w.publish() }},
}

// relate has one workload depend on another, in a circle perhaps.
func (w *wishes) relate(circles bool) {
	k, on := w.some(), w.some()
	e := w.entries[k]
	if e == nil || !circles && on.Compare(k) >= 0 {
		return
	}
	w.edits++
	w.entries[k] = entry(k, e.Hash, []func(*spec.Spec){dependsOn(spec.DependencyStarted, on), dependsOn("", on), restartsWith(on)}[w.edits%3])
	w.publish()
}

// TestLoopPropertiesWithOrder is TestLoopProperties for workloads that depend on
// one another: in a quiet world without circles all that is wanted runs, and a
// shutdown of any world ends in time.
func TestLoopPropertiesWithOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		steps := rapid.SliceOfN(rapid.SampledFrom(slices.Concat(disturbances, orderings, orderings)), 1, 40).Draw(rt, "steps")
		mends := rapid.Bool().Draw(rt, "the circles are mended")
		faults := within(t, seed, func(m *machine, c *Controller) {
			w := newWishes(m, c)
			for _, step := range steps {
				m.mu.Lock()
				d := time.Duration(m.rand.IntN(3000)) * time.Millisecond
				m.mu.Unlock()
				wait(d)
				step.do(w)
			}
			if mends {
				w.straighten()
				w.calm()
				wait(20 * time.Minute)
				m.done()
				w.compare()
				wait(5 * time.Minute)
				if did := m.done(); len(did) > 0 {
					m.mu.Lock()
					m.fault("still at work in a quiet world: %v", did)
					m.mu.Unlock()
				}
			}
			w.calm()
			began := time.Now()
			c.Shutdown(false)
			<-c.Done()
			// Three, one after the other, each with a grace of 10 s.
			if took := time.Since(began); took > 40*time.Second {
				m.fault("the shutdown took %v", took)
			}
		})
		for _, f := range faults {
			rt.Error(f)
		}
	})
}

// straighten brings everything back, without circles.
func (w *wishes) straighten() {
	for i := range 3 {
		k := spec.Key{Kind: spec.KindAgent, Name: fmt.Sprintf("w%d", i)}
		e := w.entries[k]
		if e == nil {
			w.entries[k] = entry(k, "h0")
			continue
		}
		w.entries[k] = entry(k, e.Hash, func(s *spec.Spec) {
			s.Replicas = e.Object.Spec.Replicas
			for _, d := range e.Object.Spec.DependsOn {
				if d.Key().Compare(k) < 0 {
					s.DependsOn = append(s.DependsOn, d)
				}
			}
		})
	}
}
