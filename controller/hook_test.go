package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// hooked gives a spec a preStop hook.
func hooked(s *spec.Spec) {
	s.Lifecycle.PreStop = &spec.Hook{Exec: &spec.ExecAction{Command: []string{"drain"}}}
}

func TestDecideHooks(t *testing.T) {
	suspended := func(s *spec.Spec) { s.Suspend = true }
	atOnce := func(s *spec.Spec) { s.TerminationGracePeriodSeconds = new(int64) }
	id := instance(files, "a", 1).ID
	asked := func(ago time.Duration) Event {
		return HookAsked{Key: files, ID: id, Reason: spec.ReasonSuspended, At: t0.Add(-ago), Policy: usual}
	}
	ended := HookEnded{Key: files, ID: id}
	knows := []Event{Adopted{Key: files, Instance: recordOf(instance(files, "a", 1), true)}, Introduced{Key: files, ID: id, Entry: entry(files, "a", hooked)}}
	remains := endedInstance(files, "a", 1, t0.Add(-2*time.Second), process(2))
	now := func(w *World) { w.Shutdown = ShutdownNow }
	for _, tt := range []struct {
		name string
		w    World
		want string
	}{
		{"a stop begins with the hook", world(wants(entry(files, "a", hooked, suspended)), runs(instance(files, "a", 1))), "PreStop files#1"},
		{"the hook is under way", world(wants(entry(files, "a", hooked, suspended)), runs(instance(files, "a", 1)), happened(asked(time.Second))), ""},
		{"the hook is done", world(wants(entry(files, "a", hooked, suspended)), runs(instance(files, "a", 1)), happened(asked(time.Second), ended)), "Stop files#1"},
		{"the grace is over", world(wants(entry(files, "a", hooked, suspended)), runs(instance(files, "a", 1)), happened(asked(11*time.Second))), "Kill files#1"},
		{"the grace is over, the hook done", world(wants(entry(files, "a", hooked, suspended)), runs(instance(files, "a", 1)), happened(asked(11*time.Second), ended)), "Kill files#1"},
		{"its main process has ended", world(wants(entry(files, "a", hooked, suspended)), runs(remains), happened(asked(3*time.Second))), "Stop files#1"},
		{"a second signal to the controller", world(wants(entry(files, "a", hooked)), runs(instance(files, "a", 1)), happened(asked(time.Second)), now), "Kill files#1"},
		{"the first one", world(wants(entry(files, "a", hooked)), runs(instance(files, "a", 1)), func(w *World) { w.Shutdown = ShutdownGraceful }), "PreStop files#1"},
		{"no grace", world(wants(entry(files, "a", hooked, suspended, atOnce)), runs(instance(files, "a", 1))), "Stop files#1"},
		{"the manifest is gone", world(runs(instance(files, "a", 1)), happened(knows...)), "PreStop files#1"},
		{"only members are left", world(wants(entry(files, "a", hooked)), runs(remains)), "Stop files#1"},
		{"liveness", world(wants(entry(files, "a", hooked, probing("liveness"))), runs(instance(files, "a", 1)), happened(
			ProbeAsked{Key: files, ID: id, Kind: Liveness, At: t0.Add(-time.Second)},
			Probed{Key: files, ID: id, Kind: Liveness, At: t0, Err: "no answer", Failures: 1, Successes: 1})), "PreStop files#1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := Decide(tt.w)
			if got := said(p); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if strings.HasPrefix(tt.want, "PreStop") && p.WakeAt.IsZero() {
				t.Error("nothing wakes when its grace period is over")
			}
		})
	}
}

// removal runs a hooked workload, removes its manifest, and gives what was done.
func removal(t *testing.T, hook func(context.Context) error, then func(m *machine, c *Controller)) (did []string, events []Occurrence, faults []string) {
	t.Helper()
	log := &occurrences{}
	faults = within(t, 5, func(m *machine, c *Controller) {
		askedBy(c).hook(hook)
		m.publish(setOf(entry(files, "a", hooked)))
		wait(time.Minute)
		m.done()
		m.publish(setOf())
		then(m, c)
		did = m.done()
	}, func(o *Options) { o.Events = log })
	return did, log.all, faults
}

// occurrences is an event log in memory.
type occurrences struct{ all []Occurrence }

func (o *occurrences) Append(record any) { o.all = append(o.all, record.(Occurrence)) }

func (o *occurrences) of(t OccurrenceType) *Occurrence {
	if i := slices.IndexFunc(o.all, func(x Occurrence) bool { return x.Type == t }); i >= 0 {
		return &o.all[i]
	}
	return nil
}

func TestHookComesBeforeTheSignal(t *testing.T) {
	did, events, faults := removal(t, nil, func(*machine, *Controller) { wait(time.Minute) })
	if len(did) < 2 || did[0] != "hook "+files.String() || did[1] != "signal "+files.String() {
		t.Errorf("%v, want the hook and then signals", did)
	}
	if e := (&occurrences{events}).of(HookHasEnded); e == nil || e.Reason != spec.ReasonPreStop {
		t.Errorf("no event of the hook: %+v", e)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

func TestHookThatFailsStopsNoStop(t *testing.T) {
	fails := func(context.Context) error { return errors.New("no such command") }
	did, events, faults := removal(t, fails, func(m *machine, _ *Controller) {
		wait(5 * time.Second)
		m.mu.Lock()
		defer m.mu.Unlock()
		if len(m.did) < 2 {
			m.fault("not signalled at once: %v", m.did)
		}
	})
	if !slices.Contains(did, "signal "+files.String()) {
		t.Errorf("%v, want a signal", did)
	}
	if e := (&occurrences{events}).of(HookHasFailed); e == nil || e.Reason != spec.ReasonPreStopFailed || e.Message != "no such command" {
		t.Errorf("the failure is not in the event log: %+v", e)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

// A hook that hangs is cut off at the end of the grace period, and what it held up
// is killed: no stop signal is sent before.
func TestHookThatHangsIsCutOff(t *testing.T) {
	var began, cut time.Time
	hangs := func(ctx context.Context) error {
		began = time.Now()
		<-ctx.Done()
		cut = time.Now()
		return ctx.Err()
	}
	_, _, faults := removal(t, hangs, func(m *machine, _ *Controller) {
		wait(9 * time.Second)
		if did := m.done(); !slices.Equal(did, []string{"hook " + files.String()}) {
			m.fault("within the grace period: %v", did)
		}
		wait(5 * time.Second)
		if did := m.done(); !slices.Contains(did, "signal "+files.String()) || m.mains(files) != 0 {
			m.fault("after the grace period: %v, and %d run", did, m.mains(files))
		}
	})
	if took := cut.Sub(began); took < 9*time.Second || took > 11*time.Second {
		t.Errorf("the hook ran for %v, want the 10 s of the grace period", took)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

// A second signal to the controller ends hooks and kills.
func TestShutdownNowEndsAHook(t *testing.T) {
	ended := false
	hangs := func(ctx context.Context) error {
		<-ctx.Done()
		ended = true
		return ctx.Err()
	}
	_, _, faults := removal(t, hangs, func(m *machine, c *Controller) {
		wait(2 * time.Second)
		c.Shutdown(true)
		began := time.Now()
		<-c.Done()
		if took := time.Since(began); took > 2*time.Second {
			m.fault("the shutdown took %v", took)
		}
	})
	if !ended {
		t.Error("the hook was not ended")
	}
	for _, f := range faults {
		t.Error(f)
	}
}

// A process that ends while its hook runs has been stopped: it is no crash.
func TestEndDuringAHookIsPlanned(t *testing.T) {
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	_, events, faults := removal(t, hangs, func(m *machine, _ *Controller) {
		wait(2 * time.Second)
		m.mu.Lock()
		for _, p := range m.procs {
			if p.main {
				m.end(p, 0, 0)
			}
		}
		m.mu.Unlock()
		wait(time.Minute)
	})
	if e := (&occurrences{events}).of(HasExited); e == nil || e.Reason != spec.ReasonStopped {
		t.Errorf("exit %+v, want that it was stopped", e)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

// What is being stopped cannot be relied upon, although it still answers; and
// once it is gone the status of a controller that ends says why.
func TestStatusOfWhatIsBeingStopped(t *testing.T) {
	in := instance(files, "a", 1)
	asked := HookAsked{Key: files, ID: in.ID, Reason: spec.ReasonSuspended, At: t0, Policy: usual}
	w := world(wants(entry(files, "a", hooked)), runs(in), happened(asked))
	if st := Report(w, Decide(w))[files]; st.Ready || st.Instances[0].Ready || st.Phase != spec.PhaseStopping || st.Reason != spec.ReasonSuspended {
		t.Errorf("%+v, want it to be stopping, and not ready", st)
	}
	w = world(wants(entry(files, "a")), func(w *World) { w.Shutdown = ShutdownGraceful })
	if st := Report(w, Decide(w))[files]; st.Ready || st.Reason != spec.ReasonShutdown {
		t.Errorf("%+v, want the reason of the shutdown", st)
	}
}
