package controller

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// blueGreen is a strategy with a minute for the new one, and a readiness probe.
func blueGreen(s *spec.Spec) {
	s.Strategy = spec.Strategy{Type: spec.BlueGreen, ProgressDeadlineSeconds: 60}
	s.ReadinessProbe = &spec.Probe{
		Exec: &spec.ExecAction{Command: []string{"true"}}, PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
	}
}

// answers is what the readiness probe of instance n has said a second ago.
func answers(hash spec.Hash, n int, err string) func(*World) {
	id := instance(files, hash, n).ID
	return happened(
		ProbeAsked{Key: files, ID: id, Kind: Readiness, At: t0.Add(-time.Second)},
		Probed{Key: files, ID: id, Kind: Readiness, At: t0.Add(-time.Second), Err: err, Successes: 1, Failures: 1},
	)
}

// since is instance(files, hash, n), started so long ago.
func since(hash spec.Hash, n int, ago time.Duration) *observe.Instance {
	in := instance(files, hash, n)
	in.StartedAt = t0.Add(-ago)
	return in
}

func TestDecideBlueGreen(t *testing.T) {
	want := func(hash spec.Hash, n int32) func(*World) {
		return wants(entry(files, hash, blueGreen, func(s *spec.Spec) { s.Replicas = &n }))
	}
	resolved := happened(Resolved{Key: files, Hash: "b", At: t0})
	asked := func(ago time.Duration) func(*World) {
		return happened(
			StartAsked{Key: files, Token: "t", Hash: "b", At: t0.Add(-ago), Beside: true},
			Started{Key: files, Token: "t", Instance: recordOf(since("b", 9, ago), true), At: t0.Add(-ago)},
		)
	}
	drained := func(n int, ago time.Duration) func(*World) {
		return happened(Succeeds{files, instance(files, "b", n).ID, t0.Add(-ago)})
	}
	givenUp := func(sum string) func(*World) {
		return happened(GaveUp{Key: files, Hash: "b", Spec: sum, Message: "not ready within 1m0s: exit code 1"})
	}
	same := specSum(entry(files, "b", blueGreen))
	crashed := func(h spec.Hash) func(*World) {
		return happened(StartAsked{Key: files, Token: "t", Hash: "b", At: t0.Add(-70 * time.Second), Beside: true},
			StartFailed{Key: files, Token: "t", Hash: h, Reason: spec.ReasonSpawnFailed, Message: "no luck", At: t0.Add(-time.Minute)})
	}

	for _, tt := range []struct {
		name  string
		world World
		want  string // the actions, but for probes
		why   spec.Reason
	}{
		{"not resolved", world(want("b", 1), runs(since("a", 1, time.Hour)), answers("a", 1, "")), "Resolve files", spec.ReasonChecking},
		{"no program", world(want("b", 1), runs(since("a", 1, time.Hour)), answers("a", 1, ""), happened(Resolved{Key: files, Hash: "b", Reason: spec.ReasonProgramNotFound, Message: "no", At: t0})), "", spec.ReasonProgramNotFound},
		{"the new one starts beside", world(want("b", 1), runs(since("a", 1, time.Hour)), answers("a", 1, ""), resolved), "Start files", spec.ReasonStarting},
		{"the new one is not ready", world(want("b", 1), runs(since("a", 1, time.Hour), since("b", 2, time.Second)), answers("a", 1, ""), answers("b", 2, "no"), resolved), "", spec.ReasonSpecChanged},
		{"the new one is ready", world(want("b", 1), runs(since("a", 1, time.Hour), since("b", 2, time.Second)), answers("a", 1, ""), answers("b", 2, "")), "Note files", spec.ReasonDraining},
		{"clients move", world(want("b", 1), runs(since("a", 1, time.Hour), since("b", 2, time.Second)), answers("a", 1, ""), answers("b", 2, ""), drained(2, drainTime-1)), "", spec.ReasonDraining},
		{"clients have moved", world(want("b", 1), runs(since("a", 1, time.Hour), since("b", 2, time.Second)), answers("a", 1, ""), answers("b", 2, ""), drained(2, drainTime)), "Stop files#1", spec.ReasonSpecChanged},
		{"it is not ready any more", world(want("b", 1), runs(since("a", 1, time.Hour), since("b", 2, time.Second)), answers("a", 1, ""), answers("b", 2, "no"), drained(2, time.Millisecond)), "Note files", spec.ReasonSpecChanged},
		{"another one had been ready", world(want("b", 1), runs(since("a", 1, time.Hour), since("b", 2, time.Second)), answers("a", 1, ""), answers("b", 2, ""), drained(7, time.Hour)), "Note files", spec.ReasonDraining},
		{"the former one does not answer the new probe", world(want("b", 1), runs(since("a", 1, time.Hour), since("b", 2, time.Second)), answers("a", 1, "no"), answers("b", 2, "")), "Note files", spec.ReasonDraining},
		{"of the former ones, first what does not answer", world(want("b", 2), runs(since("a", 1, time.Hour), since("a", 2, time.Hour), since("b", 3, time.Second)), answers("a", 1, ""), answers("a", 2, "no"), answers("b", 3, ""), drained(3, drainTime)), "Stop files#2", spec.ReasonSpecChanged},
		{"found beside each other, in time", world(want("b", 1), runs(since("a", 1, time.Hour), since("b", 2, 59*time.Second)), answers("a", 1, ""), answers("b", 2, "no")), "", spec.ReasonSpecChanged},
		{"found beside each other, too late", world(want("b", 1), runs(since("a", 1, time.Hour), since("b", 2, 60*time.Second)), answers("a", 1, ""), answers("b", 2, "no")), "Note files, Stop files#2", spec.ReasonDeadlineExceeded},
		{"found beside each other, and not asked yet", world(want("b", 1), runs(since("a", 1, time.Hour), since("b", 2, time.Hour))), "", spec.ReasonSpecChanged},
		{"its time began with the first start", world(want("b", 1), runs(since("a", 1, time.Hour), since("b", 2, time.Second)), answers("a", 1, ""), answers("b", 2, "no"), asked(time.Minute)), "Note files, Stop files#2", spec.ReasonDeadlineExceeded},
		{"it crashes until its time is over", world(want("b", 1), runs(since("a", 1, time.Hour)), answers("a", 1, ""), resolved, crashed("b")), "Note files", spec.ReasonDeadlineExceeded},
		{"given up", world(want("b", 1), runs(since("a", 1, time.Hour)), answers("a", 1, ""), resolved, givenUp(same)), "", spec.ReasonDeadlineExceeded},
		{"given up, and the former one does not answer", world(want("b", 1), runs(since("a", 1, time.Hour)), answers("a", 1, "no"), resolved, givenUp(same)), "", spec.ReasonDeadlineExceeded},
		{"given up, and a probe was mended", world(want("b", 1), runs(since("a", 1, time.Hour)), answers("a", 1, ""), resolved, givenUp("other")), "Note files, Start files", spec.ReasonStarting},
		{"given up, and another program", world(want("c", 1), runs(since("a", 1, time.Hour)), answers("a", 1, ""), givenUp(same)), "Note files, Resolve files", spec.ReasonChecking},
		{"given up, and back to the former", world(want("a", 1), runs(since("a", 1, time.Hour)), answers("a", 1, ""), givenUp(same)), "Note files", ""},
		{"given up, and the former one is gone", world(want("b", 1), givenUp(same)), "Start files", spec.ReasonStarting},
		{"back to the former while the new one starts", world(want("a", 1), runs(since("a", 1, time.Hour), since("b", 2, time.Second)), answers("a", 1, ""), answers("b", 2, "no")), "Note files", spec.ReasonDraining},
		{"one at a time", world(want("b", 2), runs(since("a", 1, time.Hour), since("a", 2, time.Hour)), answers("a", 1, ""), answers("a", 2, ""), resolved), "Start files", spec.ReasonStarting},
		{"a missing one comes first", world(want("b", 2), runs(since("a", 1, time.Hour)), answers("a", 1, ""), resolved), "Start files", spec.ReasonStarting},
		{"two former ones and a ready one", world(want("b", 2), runs(since("a", 1, time.Hour), since("a", 2, time.Hour), since("b", 3, time.Second)), answers("a", 1, ""), answers("a", 2, ""), answers("b", 3, ""), drained(3, drainTime)), "Stop files#1", spec.ReasonSpecChanged},
		{"three of the new, and two would do", world(want("b", 1), runs(since("a", 1, time.Hour), since("b", 2, time.Second), since("b", 3, time.Second)), answers("a", 1, ""), answers("b", 2, "no"), answers("b", 3, "no")), "Stop files#3", spec.ReasonSpecChanged},
		{"a third program", world(want("c", 1), runs(since("a", 1, time.Hour), since("b", 2, time.Second)), answers("a", 1, ""), answers("b", 2, "no"), happened(Resolved{Key: files, Hash: "c", At: t0})), "Stop files#2", spec.ReasonSpecChanged},
		{"suspended", world(wants(entry(files, "b", blueGreen, func(s *spec.Spec) { s.Suspend = true })), runs(since("a", 1, time.Hour), since("b", 2, time.Second))), "Stop files#1, Stop files#2", spec.ReasonSuspended},
		{"not wanted", world(runs(since("a", 1, time.Hour), since("b", 2, time.Second))), "Stop files#1, Stop files#2", spec.ReasonNotWanted},
		{"shutdown", world(want("b", 1), runs(since("a", 1, time.Hour), since("b", 2, time.Second)), func(w *World) { w.Shutdown = ShutdownGraceful }), "Stop files#1, Stop files#2", spec.ReasonShutdown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := Decide(tt.world)
			p.Actions = slices.DeleteFunc(p.Actions, func(a Action) bool { return a.Type == Probe })
			if got := said(p); got != tt.want {
				t.Errorf("actions: %s, want %s", got, tt.want)
			}
			if got := p.Why[files].Reason; got != tt.why {
				t.Errorf("reason %q, want %q", got, tt.why)
			}
			Report(tt.world, p) // must cope with each world
		})
	}
}

// The former one is not judged by the probes of the new manifest.
func TestFormerOneOutlivesANewLivenessProbe(t *testing.T) {
	id := instance(files, "a", 1).ID
	w := world(wants(entry(files, "b", blueGreen, func(s *spec.Spec) { s.LivenessProbe = s.ReadinessProbe })), runs(instance(files, "a", 1)), happened(
		Resolved{Key: files, Hash: "b", At: t0},
		ProbeAsked{Key: files, ID: id, Kind: Liveness, At: t0},
		Probed{Key: files, ID: id, Kind: Liveness, At: t0, Err: "no", Successes: 1, Failures: 1},
	))
	if got := said(Decide(w)); !strings.Contains(got, "Start files") || strings.Contains(got, "Stop") {
		t.Errorf("%s, want the new one to be started and the former one kept", got)
	}
}

// Nor does a new program that cannot be resolved cost the one that runs, where
// that is to be stopped first: the new probes say nothing of it.
func TestNewLivenessProbeStopsNothingThatCannotBeReplaced(t *testing.T) {
	id := instance(files, "a", 1).ID
	w := world(wants(entry(files, "b", probing("liveness"))), runs(instance(files, "a", 1)), happened(
		Resolved{Key: files, Hash: "b", At: t0, Reason: spec.ReasonProgramNotFound, Message: "no such program"},
		ProbeAsked{Key: files, ID: id, Kind: Liveness, At: t0},
		Probed{Key: files, ID: id, Kind: Liveness, At: t0, Err: "no", Successes: 1, Failures: 1},
	))
	if got := said(Decide(w)); strings.Contains(got, "Stop") {
		t.Errorf("%s, want the former one to be kept", got)
	}
}

// One at a time: the next one is stopped when the last one that took the place of
// another can be used, also where that is for a dependency.
func TestReplicasAreReplacedOneAfterTheOther(t *testing.T) {
	two := func(s *spec.Spec) { n := int32(2); s.Replicas = &n }
	mixed := world(wants(entry(files, "b", two, probedBy)), runs(instance(files, "a", 1), instance(files, "b", 2)), happened(Resolved{Key: files, Hash: "b", At: t0}))
	broken := world(wants(entry(files, "c", two, probedBy)), runs(instance(files, "a", 1), instance(files, "b", 2)), happened(Resolved{Key: files, Hash: "c", At: t0}))
	renewed := world(wants(entry(agent, "x"), entry(files, "a", two, probedBy, restartsWith(agent))),
		runs(instance(agent, "x", 2), instance(files, "a", 1), instance(files, "a", 3)))
	for _, tt := range []struct {
		name string
		w    World
		want string // of the stops
	}{
		{"the new one is not ready yet", mixed, ""},
		{"nor is the former one", mixed.after(fails(instance(files, "a", 1))...), "Stop files#1"},
		{"but the former one is", mixed.after(passes(instance(files, "a", 1))...), ""},
		{"the new one is ready", mixed.after(passes(instance(files, "b", 2))...), "Stop files#1"},
		{"it is neither the wanted one", broken, "Stop files#1"},
		{"for a dependency, not ready yet", renewed, ""},
		{"for a dependency, and neither is ready", renewed.after(fails(instance(files, "a", 1))...), "Stop files#1"},
		{"for a dependency, ready", renewed.after(passes(instance(files, "a", 3))...), "Stop files#1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := Decide(tt.w)
			p.Actions = slices.DeleteFunc(p.Actions, func(a Action) bool { return !a.stops() })
			if got := said(p); got != tt.want {
				t.Errorf("%q, want %q (%v)", got, tt.want, p.Why)
			}
		})
	}
}

// after is the world after some events.
func (w World) after(events ...Event) World {
	w.History = w.History.With(events...)
	return w
}

// What clients are sent to is what is ready, and of that the wanted program.
func TestStatusInAReplacement(t *testing.T) {
	want := wants(entry(files, "b", blueGreen))
	both := runs(since("a", 1, time.Hour), since("b", 2, time.Second))
	alone := runs(since("a", 1, time.Hour))
	giveUp := happened(GaveUp{Key: files, Hash: "b", Spec: specSum(entry(files, "b", blueGreen)), Message: "not ready within 1m0s: exit code 1"})
	for _, tt := range []struct {
		name        string
		world       World
		pid         int
		ready       spec.ConditionStatus
		progressing spec.Condition
		message     string // of Ready
	}{
		{"the new one is not ready", world(want, both, answers("a", 1, ""), answers("b", 2, "no")), 1001, spec.True, spec.Condition{Status: spec.True, Reason: spec.ReasonSpecChanged}, "being started"},
		{"the new one is ready", world(want, both, answers("a", 1, ""), answers("b", 2, "")), 1002, spec.True, spec.Condition{Status: spec.True, Reason: spec.ReasonDraining}, "the former one stops"},
		{"none is ready", world(want, both, answers("a", 1, "no"), answers("b", 2, "no")), 1001, spec.False, spec.Condition{Status: spec.True, Reason: spec.ReasonSpecChanged}, "no"},
		{"given up", world(want, alone, answers("a", 1, ""), giveUp), 1001, spec.True, spec.Condition{Status: spec.False, Reason: spec.ReasonDeadlineExceeded}, "exit code 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			st := Report(tt.world, Decide(tt.world))[files]
			if st.PID != tt.pid || st.Instances[0].PID != tt.pid {
				t.Errorf("pid %d, want %d", st.PID, tt.pid)
			}
			ready, progressing := conditionOf(st, spec.CondReady), conditionOf(st, spec.CondProgressing)
			if ready.Status != tt.ready || !strings.Contains(ready.Message, tt.message) {
				t.Errorf("Ready is %s, %q", ready.Status, ready.Message)
			}
			if progressing.Status != tt.progressing.Status || progressing.Reason != tt.progressing.Reason || progressing.Message == "" {
				t.Errorf("Progressing is %s, %s, %q", progressing.Status, progressing.Reason, progressing.Message)
			}
			if ready.Status == spec.True && st.Phase != spec.PhaseRunning {
				t.Errorf("phase %s, and ready", st.Phase)
			}
		})
	}
}

func conditionOf(st spec.Status, of spec.ConditionType) spec.Condition {
	i := slices.IndexFunc(st.Conditions, func(c spec.Condition) bool { return c.Type == of })
	return st.Conditions[i]
}

// In every world a BlueGreen costs nothing that serves: no start makes more than
// one surplus, and no stop leaves fewer than are wanted of what is ready or of the
// former program.
func TestBlueGreenCostsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := aWorld(t)
		for _, e := range w.Desired.Entries {
			if e.Object != nil { // the likelier, the sooner a mistake is found
				e.Object.Spec.Strategy = spec.Strategy{Type: spec.BlueGreen, ProgressDeadlineSeconds: 10}
				e.Object.Spec.Ports = []spec.Port{{}}
			}
		}
		if p := Decide(w); w.Shutdown == NotShuttingDown && p.Blocked.Reason == "" {
			for _, e := range w.Desired.Entries {
				if isBlueGreen(e) && !e.Gone() && replicas(e, w.History.Of(e.Key)) > 0 {
					checkBlueGreen(t, &w, p, e)
				}
			}
		}
	})
}

func checkBlueGreen(t *rapid.T, w *World, p Plan, e *spec.Entry) {
	h, wanted := w.History.Of(e.Key), replicas(e, w.History.Of(e.Key))
	var before, after, serve, serveAfter, old int
	for _, in := range w.Observed.InstancesOf(e.Key) {
		if !in.Live() || h.stop(in.ID) != nil || in.Hash == e.Hash && w.healthOf(e, h, in).failed != "" {
			continue
		}
		stays := !slices.ContainsFunc(p.Actions, func(a Action) bool { return a.stops() && a.Instance.ID == in.ID })
		serves := h.outdated(e, in) || w.ready(e, h, in)
		before += count(true)
		after += count(stays)
		serve += count(serves)
		serveAfter += count(serves && stays)
		old += count(h.outdated(e, in))
	}
	if old == 0 {
		return // nothing is replaced
	}
	if after < min(before, wanted) || serveAfter < min(serve, wanted) {
		t.Errorf("%v: %d of %d stay, and %d of %d that are former or ready; want %d: %s", e.Key, after, before, serveAfter, serve, wanted, said(p))
	}
	if after > wanted+1 && p.Why[e.Key].Reason != spec.ReasonDependentsFirst {
		t.Errorf("%v: %d stay, want one beside %d: %s", e.Key, after, wanted, said(p))
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// fakeProber is one whose answer depends on the program alone.
type fakeProber struct {
	m    *machine
	bad  map[spec.Hash]bool // is never ready
	asks int
}

func (f *fakeProber) Probe(_ context.Context, q observe.Question) (observe.Answer, error) {
	f.m.pause()
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.asks++
	if f.bad[q.Instance.Hash] {
		return observe.Answer{}, errTest
	}
	return observe.Answer{}, nil
}

func (f *fakeProber) Do(context.Context, *spec.Entry, *observe.Instance, *spec.Hook) error {
	return nil
}
func (f *fakeProber) Forget(spec.Instance) {}

// mainsOf counts the main processes of each program.
func (m *machine) mainsOf() map[spec.Hash]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := map[spec.Hash]int{}
	for _, p := range m.procs {
		n[p.hash] += count(p.main)
	}
	return n
}

// watching has a look at the main processes every 50 ms, for a while.
func (m *machine) watching(d time.Duration, look func(map[spec.Hash]int)) {
	for range d / (50 * time.Millisecond) {
		wait(50 * time.Millisecond)
		look(m.mainsOf())
	}
}

func blueGreenOf(hash spec.Hash, replicas int32) *spec.Set {
	return setOf(entry(files, hash, blueGreen, func(s *spec.Spec) { s.Replicas = &replicas }))
}

func TestLoopReplacesBeside(t *testing.T) {
	for _, n := range []int32{1, 3} {
		f := &fakeProber{}
		faults := within(t, 5, func(m *machine, c *Controller) {
			f.m = m
			m.publish(blueGreenOf("a", n))
			wait(time.Minute)
			m.publish(blueGreenOf("b", n))
			m.watching(2*time.Minute, func(mains map[spec.Hash]int) {
				if sum := mains["a"] + mains["b"]; sum < int(n) || sum > int(n)+1 {
					m.fault("%d of %d run: %v", sum, n, mains)
				}
			})
			if got := m.mainsOf(); got["a"] != 0 || got["b"] != int(n) {
				m.fault("%v run, want %d of b", got, n)
			}
		}, func(o *Options) { o.Prober = f })
		for _, f := range faults {
			t.Error(f)
		}
	}
}

// What is never ready, or crashes, costs the former one nothing and is not tried
// again; a restarted controller does not try it either, and another program is
// tried at once.
func TestLoopGivesUpWhatIsNeverReady(t *testing.T) {
	for name, crashes := range map[string]bool{"never ready": false, "crashes": true} {
		t.Run(name, func(t *testing.T) {
			f := &fakeProber{bad: map[spec.Hash]bool{"b": true}}
			var kept ledger
			faults := within(t, 6, func(m *machine, c *Controller) {
				f.m = m
				m.publish(blueGreenOf("a", 1))
				wait(time.Minute)
				m.publish(blueGreenOf("b", 1))
				started := 0
				m.watching(3*time.Minute, func(mains map[spec.Hash]int) {
					if mains["a"] != 1 || mains["b"] > 1 {
						m.fault("%v run", mains)
					}
					started += mains["b"]
					if crashes {
						m.crash("b")
					}
				})
				if started == 0 {
					m.fault("b was never tried")
				}
				m.done()
				wait(time.Hour)
				if did := m.done(); len(did) > 0 {
					m.fault("b is given up, and still %v", did)
				}
				v, err := c.View(context.Background())
				if err != nil {
					m.fault("%v", err)
					return
				}
				st := v.Workloads[0].Status
				if c := conditionOf(st, spec.CondProgressing); c.Status != spec.False || c.Reason != spec.ReasonDeadlineExceeded || !strings.Contains(c.Message, "not ready within 1m0s: ") {
					m.fault("Progressing is %+v", c)
				}
				if !st.Ready {
					m.fault("not ready: %+v", st)
				}
			}, func(o *Options) { o.Prober, o.Ledger = f, &kept })
			for _, f := range faults {
				t.Error(f)
			}

			h := Restore("boot", slices.Values(kept.lines))
			if diff := cmp.Diff(h.Of(files).Replacement, Restore("boot", slices.Values(Compact("boot", kept.lines))).Of(files).Replacement); diff != "" {
				t.Errorf("a compact ledger restores another one: %s", diff)
			}
			faults = within(t, 7, func(m *machine, c *Controller) {
				f.m = m
				m.publish(blueGreenOf("b", 1))
				m.watching(5*time.Minute, func(mains map[spec.Hash]int) {
					if mains["a"] != 1 || mains["b"] != 0 {
						m.fault("after a restart %v run", mains)
					}
				})
				m.publish(blueGreenOf("c", 1))
				wait(10 * time.Second)
				if got := m.mainsOf(); got["c"] != 1 || got["a"] != 0 {
					m.fault("%v run, want c", got)
				}
			}, func(o *Options) { o.Prober, o.History = f, h },
				lives(simulated{key: files, id: "x-101", hash: "a", main: true, onExit: spec.ExitStop}))
			for _, f := range faults {
				t.Error(f)
			}
		})
	}
}

// crash ends the main processes of a program.
func (m *machine) crash(hash spec.Hash) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.procs {
		if p.main && p.hash == hash {
			m.end(p, 1, 0)
		}
	}
}

// The former one crashes while the new one is not ready yet: the new one takes
// over. It crashes when the new one was given up: that is started all the same,
// since nothing else is known.
func TestLoopWithoutTheFormerOne(t *testing.T) {
	for name, after := range map[string]time.Duration{"while the new one starts": 10 * time.Second, "when it was given up": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			f := &fakeProber{bad: map[spec.Hash]bool{"b": true}}
			faults := within(t, 8, func(m *machine, c *Controller) {
				f.m = m
				m.publish(blueGreenOf("a", 1))
				wait(time.Minute)
				m.publish(blueGreenOf("b", 1))
				wait(after)
				m.crash("a")
				wait(time.Minute)
				if got := m.mainsOf(); got["a"] != 0 || got["b"] != 1 {
					m.fault("%v run, want b", got)
				}
				m.done()
				wait(10 * time.Minute)
				if did := m.done(); len(did) > 0 {
					m.fault("b is all that there is, and it came to %v", did)
				}
			}, func(o *Options) { o.Prober = f })
			for _, f := range faults {
				t.Error(f)
			}
		})
	}
}
