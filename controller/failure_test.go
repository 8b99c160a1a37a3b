package controller

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

func TestTerminationReasons(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    observe.Exit
		ok   []int32
		want spec.Reason
	}{
		{"0", observe.Exit{Known: true}, nil, spec.ReasonCompleted},
		{"3", observe.Exit{Known: true, Code: 3}, nil, spec.ReasonError},
		{"3, which is a success", observe.Exit{Known: true, Code: 3}, []int32{3, 4}, spec.ReasonCompleted},
		{"0 is always one", observe.Exit{Known: true}, []int32{3}, spec.ReasonCompleted},
		{"a signal is none", observe.Exit{Known: true, Code: -1, Signal: 15}, []int32{-1, 15, 143}, spec.ReasonError},
		{"out of memory", observe.Exit{Known: true, Code: -1, Signal: 9, OOM: true}, nil, spec.ReasonOOMKilled},
		{"not known", observe.Exit{Code: 0}, nil, spec.ReasonUnknown},
	} {
		if got := termination(tt.e, t0, tt.ok); got.Reason != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got.Reason, tt.want)
		}
	}
}

// exits are unplanned ends, in this order, of a workload with that many replicas.
func exits(reasons ...spec.Reason) (es []Event) {
	for i, r := range reasons {
		in := instance(files, "a", i+1)
		x := spec.Termination{Reason: r, StartedAt: t0.Add(-time.Minute), FinishedAt: t0.Add(-time.Second)}
		switch r {
		case spec.ReasonError:
			x.ExitCode, x.Output = 3, "no such file"
		case spec.ReasonLivenessFailed, spec.ReasonStartupFailed:
			x.ExitCode, x.Message = 0, "no answer in time"
		case spec.ReasonOOMKilled:
			x.ExitCode, x.Signal = -1, "SIGKILL"
		}
		es = append(es, Started{Key: files, Instance: recordOf(in, true), At: x.StartedAt},
			Exited{Key: files, ID: in.ID, Hash: "a", Termination: x}, Gone{Key: files, ID: in.ID})
	}
	return es
}

func TestOneShots(t *testing.T) {
	const never, onFailure = spec.RestartNever, spec.RestartOnFailure
	for _, tt := range []struct {
		name     string
		policy   spec.RestartPolicy
		replicas int32
		past     []Event
		phase    spec.Phase
		message  string // a part of it
	}{
		{"done", never, 1, exits(spec.ReasonCompleted), spec.PhaseCompleted, ""},
		{"done on failure", onFailure, 1, exits(spec.ReasonCompleted), spec.PhaseCompleted, ""},
		{"failed", never, 1, exits(spec.ReasonError), spec.PhaseFailed, "exit code 3: no such file"},
		{"out of memory", never, 1, exits(spec.ReasonOOMKilled), spec.PhaseFailed, "ran out of memory"},
		{"given up", never, 1, exits(spec.ReasonLivenessFailed), spec.PhaseFailed, "the liveness probe failed: no answer in time"},
		{"never ready", never, 1, exits(spec.ReasonStartupFailed), spec.PhaseFailed, "the startup probe failed: no answer in time"},
		{"tried again", onFailure, 1, exits(spec.ReasonError), spec.PhaseBackOff, "exit code 3"},
		{"done in the end", onFailure, 1, exits(spec.ReasonError, spec.ReasonCompleted), spec.PhaseCompleted, ""},
		{"one of two failed, the other not", never, 2, exits(spec.ReasonError, spec.ReasonCompleted), spec.PhaseFailed, "1 of 2 failed"},
		{"one of two failed last", never, 2, exits(spec.ReasonCompleted, spec.ReasonError), spec.PhaseFailed, "exit code 3"},
		{"given up though it ended with 0", onFailure, 1, exits(spec.ReasonLivenessFailed), spec.PhaseBackOff, "liveness"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := world(happened(tt.past...), wants(entry(files, "a", func(s *spec.Spec) {
				s.RestartPolicy, s.Replicas, s.Backoff.Initial = tt.policy, &tt.replicas, spec.Duration(time.Hour)
				s.Backoff.Max = spec.Duration(time.Hour)
			})))
			st := Report(w, Decide(w))[files]
			if st.Phase != tt.phase || !strings.Contains(st.Message, tt.message) {
				t.Errorf("%s %q, want %s %q", st.Phase, st.Message, tt.phase, tt.message)
			}
			if last := tt.past[len(tt.past)-2].(Exited).Termination.Reason; st.LastTermination.Reason != last {
				t.Errorf("last termination %s, want %s", st.LastTermination.Reason, last)
			}
		})
	}
}

func TestLooksLikeStdio(t *testing.T) {
	quick := func(code int, ran time.Duration) spec.Termination {
		r := spec.ReasonCompleted
		if code != 0 {
			r = spec.ReasonError
		}
		return spec.Termination{ExitCode: code, Reason: r, StartedAt: t0.Add(-time.Second - ran), FinishedAt: t0.Add(-time.Second)}
	}
	ended := func(ts ...spec.Termination) (es []Event) {
		es = append(es, Started{Key: files, Instance: recordOf(instance(files, "a", 1), true)})
		for _, x := range ts {
			es = append(es, Exited{Key: files, ID: instance(files, "a", 1).ID, Hash: "a", Termination: x})
		}
		return append(es, Gone{Key: files, ID: instance(files, "a", 1).ID})
	}
	at, port := quick(0, time.Second), func(s *spec.Spec) { s.Ports = []spec.Port{{Port: 0}} }
	young, old := instance(files, "a", 1), instance(files, "a", 1)
	young.StartedAt, old.StartedAt = t0, t0.Add(-time.Minute)
	for _, tt := range []struct {
		name string
		w    World
		want bool
	}{
		{"twice", world(wants(entry(files, "a")), happened(ended(at, at)...)), true},
		{"once", world(wants(entry(files, "a")), happened(ended(at)...)), false},
		{"twice, and it is being tried again", world(wants(entry(files, "a")), happened(ended(at, at)...), runs(young)), true},
		{"twice, and then it ran on", world(wants(entry(files, "a")), happened(ended(at, at)...), runs(old)), false},
		{"not in a row", world(wants(entry(files, "a")), happened(ended(at, quick(1, 0), at)...)), false},
		{"not at once", world(wants(entry(files, "a")), happened(ended(at, quick(0, time.Minute))...)), false},
		{"with a port", world(wants(entry(files, "a", port)), happened(ended(at, at)...)), false},
		{"with the port of mcp", world(wants(entry(files, "a", func(s *spec.Spec) { s.MCP = &spec.MCP{Port: "80"} })), happened(ended(at, at)...)), false},
		{"another program", world(wants(entry(files, "b")), happened(ended(at, at)...)), false},
		{"an agent", world(wants(entry(spec.Key{Kind: spec.KindAgent, Name: "a"}, "a"))), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := Decide(tt.w)
			st := Report(tt.w, p)[tt.w.Desired.Entries[0].Key]
			stalled := false
			for _, c := range st.Conditions {
				stalled = stalled || c.Type == spec.CondStalled && c.Status == spec.True && c.Reason == spec.ReasonLooksLikeStdio && c.Message == stdioAdvice
			}
			if stalled != tt.want {
				t.Errorf("stalled: %v, want %v: %+v", stalled, tt.want, st)
			}
			if tt.want && len(tt.w.Observed.Instances) == 0 && (st.Reason != spec.ReasonLooksLikeStdio || st.Phase != spec.PhaseBackOff || p.WakeAt.IsZero()) {
				t.Errorf("%s %s, woken %v; want a back-off with the reason", st.Phase, st.Reason, p.WakeAt)
			}
		})
	}
}

// A liveness failure is a crash: it is started again after the back-off, and the
// status says what the probe said.
func TestLivenessFailureIsACrashWithAMessage(t *testing.T) {
	graves := newGraves()
	faults := within(t, 6, func(m *machine, c *Controller) {
		m.publish(setOf(entry(files, "a", probing("liveness"))))
		wait(time.Minute)
		askedBy(c).fail("liveness", errTest)
		wait(45 * time.Second)
		st := statusOf(m, c)
		if lt := st.LastTermination; lt == nil || lt.Reason != spec.ReasonLivenessFailed || lt.Message != errTest.Error() || st.Restarts == 0 {
			m.fault("%d restarts, last termination %+v", st.Restarts, lt)
		}
		if d := st.LastDeath; d == nil || d.Reason != spec.ReasonLivenessFailed || d.Probe != errTest.Error() || d.NextRetry.IsZero() {
			m.fault("last death %+v", d)
		}
	}, graves.keep)
	for _, f := range faults {
		t.Error(f)
	}
}

// What is said of a death is the failure that it was stopped for, not what
// another probe said, or the same one while it was stopped.
func TestDeathIsToldByTheProbeThatGaveUp(t *testing.T) {
	id := instance(files, "a", 1).ID
	fails := func(kind ProbeKind, err string) []Event {
		return []Event{
			ProbeAsked{Key: files, ID: id, Kind: kind, At: t0},
			Probed{Key: files, ID: id, Kind: kind, At: t0, Err: err, Successes: 1, Failures: 1},
		}
	}
	h := History{}.With(fails(Liveness, "the cause")...).With(fails(Readiness, "beside it")...)
	if got := h.Of(files).lastProbeError(id); got != "beside it" {
		t.Errorf("of one that has crashed: %q, want what was said last", got)
	}
	h = h.With(StopAsked{Key: files, ID: id, Reason: spec.ReasonLivenessFailed, At: t0})
	if got := h.Of(files).lastProbeError(id); got != "the cause" {
		t.Errorf("of one that was given up: %q, want the cause", got)
	}
}

// An attempt at an instance that is being stopped fails for that: it is no news.
func TestProbeOfWhatIsBeingStoppedSaysNothing(t *testing.T) {
	log := &occurrences{}
	faults := within(t, 7, func(m *machine, c *Controller) {
		m.publish(setOf(entry(files, "a", probing("readiness"), hooked, func(s *spec.Spec) { s.ReadinessProbe.FailureThreshold = 1 })))
		wait(time.Minute)
		askedBy(c).hang("readiness", true)
		askedBy(c).hook(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		askedBy(c).of("readiness")
		for range 2000 {
			if askedBy(c).asking("readiness") {
				break
			}
			wait(10 * time.Millisecond)
		}
		m.publish(setOf(entry(files, "a", probing("readiness"), hooked, func(s *spec.Spec) { s.Suspend = true })))
		wait(time.Minute)
		if !slices.Contains(m.done(), "hook "+files.String()) {
			m.fault("it was not stopped")
		}
	}, func(o *Options) { o.Events = log })
	if e := log.of(ProbeFails); e != nil {
		t.Errorf("%+v", e)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

// statusOf asks the controller about files.
func statusOf(m *machine, c *Controller) spec.Status {
	v, err := c.View(t0context)
	if err != nil || len(v.Workloads) != 1 {
		m.fault("%d workloads, %v", len(v.Workloads), err)
		return spec.Status{}
	}
	return v.Workloads[0].Status
}
