package controller

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

var (
	restartAsked = RestartAsked{Key: files, At: t0}
	suspendAsked = SuspendAsked{Key: files, Suspend: true, At: t0}
)

// known is the event that makes an instance one of the history.
func known(ins ...*observe.Instance) (es []Event) {
	for _, in := range ins {
		es = append(es, Adopted{Key: in.Key, Instance: recordOf(in, true), At: t0})
	}
	return es
}

// A restart goes through the rows of another program, and a suspension at runtime
// through those of a manifest.
func TestDecideWhatWasAsked(t *testing.T) {
	never := func(s *spec.Spec) { s.RestartPolicy = spec.RestartNever }
	onFailure := func(s *spec.Spec) { s.RestartPolicy = spec.RestartOnFailure }
	suspended := func(s *spec.Spec) { s.Suspend = true }
	twice := func(s *spec.Spec) { n := int32(2); s.Replicas = &n }
	one, two := instance(files, "a", 1), instance(files, "a", 2)
	found := Resolved{Key: files, Hash: "a", At: t0}
	missing := Resolved{Key: files, Hash: "a", Reason: spec.ReasonProgramNotFound, Message: "not found", At: t0}
	asked := func(es ...Event) func(*World) { return happened(append(known(one), es...)...) }
	kept := instance(files, "a", 1)
	kept.OnExit = spec.ExitKeep
	ends := func(w *World) { w.Shutdown = ShutdownGraceful }
	down := func(w *World) { w.Shutdown, w.Down = ShutdownGraceful, true }
	downNow := func(w *World) { w.Shutdown, w.Down = ShutdownNow, true }
	orphan := func(w *World) { w.Observed.Unattributed = []*observe.Process{process(7)} }

	for _, tt := range []struct {
		name  string
		world World
		want  string // the actions
		why   spec.Reason
	}{
		{"11: the program is looked for", world(wants(entry(files, "a")), runs(one), asked(restartAsked)), "Resolve files", spec.ReasonChecking},
		{"11: it is looked for again, each time", world(wants(entry(files, "a")), runs(one), asked(found, restartAsked)), "Resolve files", spec.ReasonChecking},
		{"11: it is there", world(wants(entry(files, "a")), runs(one), asked(restartAsked, found)), "Stop files#1", spec.ReasonRestartAsked},
		{"11: it is gone", world(wants(entry(files, "a")), runs(one), asked(restartAsked, missing)), "", spec.ReasonProgramNotFound},
		{"11: one replica at a time", world(wants(entry(files, "a", twice)), runs(one, two), happened(known(one, two)...), happened(restartAsked, found)), "Stop files#1", spec.ReasonRestartAsked},
		{"11: the spec has changed, too", world(wants(entry(files, "b")), runs(one), asked(restartAsked, Resolved{Key: files, Hash: "b", At: t0})), "Stop files#1", spec.ReasonSpecChanged},
		{"12: what came later stays", world(wants(entry(files, "a")), runs(one), happened(restartAsked), happened(known(one)...)), "", ""},
		{"9: what is to go is what goes", world(wants(entry(files, "a")), runs(one, two), happened(known(one)...), happened(restartAsked), happened(known(two)...)), "Stop files#1", spec.ReasonScaledDown},
		{"11: beside", world(wants(entry(files, "a", blueGreen)), runs(one), asked(restartAsked, found), answers("a", 1, "")), "Start files", spec.ReasonStarting},
		{
			"11: beside, and a former try was given up",
			world(wants(entry(files, "a", blueGreen)), runs(one), asked(GaveUp{Key: files, Hash: "a", Message: "no"}, restartAsked, found), answers("a", 1, "")), "Start files", spec.ReasonStarting,
		},
		{"15: failed", world(wants(entry(files, "a", never)), happened(exit(files, "a", 1, time.Hour)...), happened(restartAsked)), "Start files", spec.ReasonStarting},
		{"15: done", world(wants(entry(files, "a", onFailure)), happened(exit(files, "a", 0, time.Hour)...), happened(restartAsked)), "Start files", spec.ReasonStarting},
		{"15: done, while it was to be restarted", world(wants(entry(files, "a", never)), asked(restartAsked), happened(exit(files, "a", 0, 0)[1:]...)), "Start files", spec.ReasonStarting},
		{"16: back-off", world(wants(entry(files, "a")), happened(exit(files, "a", 1, 0)...), happened(restartAsked)), "Start files", spec.ReasonStarting},
		{"16: it could not be started", world(wants(entry(files, "a")), happened(StartFailed{Key: files, Hash: "a", Reason: spec.ReasonSpawnFailed, At: t0}, restartAsked)), "Start files", spec.ReasonStarting},
		{
			"17: a start that was under way fails",
			world(wants(entry(files, "a")), happened(StartAsked{Key: files, Token: "t", Hash: "a"}, restartAsked, StartFailed{Key: files, Token: "t", Hash: "a", At: t0})),
			"Start files", spec.ReasonStarting,
		},

		{"8: suspended at runtime", world(wants(entry(files, "a")), runs(one), asked(suspendAsked)), "Stop files#1", spec.ReasonSuspendedNow},
		{"8: by its manifest, too", world(wants(entry(files, "a", suspended)), runs(one), asked(suspendAsked)), "Stop files#1", spec.ReasonSuspendedNow},
		{"8: nothing runs", world(wants(entry(files, "a")), happened(suspendAsked)), "", ""},
		{"12: resumed", world(wants(entry(files, "a")), runs(one), asked(suspendAsked, SuspendAsked{Key: files, At: t0})), "", ""},
		{"8: suspended comes before restarted", world(wants(entry(files, "a")), runs(one), asked(restartAsked, suspendAsked, found)), "Stop files#1", spec.ReasonSuspendedNow},
		{"the manifest is gone", world(happened(suspendAsked)), "Note files", ""},
		{"it may be gone", world(happened(suspendAsked), func(w *World) { w.Desired.Doubts = []spec.Doubt{{All: true}} }), "", ""},
		{"it is back, and resumed", world(wants(entry(files, "a")), happened(suspendAsked, SuspendAsked{Key: files, At: t0, Why: "its manifest is gone"})), "Start files", spec.ReasonStarting},

		{"5: shutdown keeps", world(wants(entry(files, "a")), runs(kept), orphan, ends), "", ""},
		{"5: down does not", world(wants(entry(files, "a")), runs(kept), down), "Stop files#1", spec.ReasonShutdown},
		{"5: at once", world(wants(entry(files, "a")), runs(kept), downNow), "Kill files#1", spec.ReasonGraceOver},
		{"5: with the orphans", world(wants(entry(files, "a")), runs(kept), orphan, down), "Stop#, Stop files#1", spec.ReasonShutdown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := Decide(tt.world)
			if got := said(quiet(p)); got != tt.want {
				t.Errorf("actions: %s, want %s", got, tt.want)
			}
			if got := p.Why[files].Reason; got != tt.why {
				t.Errorf("why: %q, want %q", got, tt.why)
			}
		})
	}
}

// quiet is a plan without what is asked of probes and written down.
func quiet(p Plan) Plan {
	var acts []Action
	for _, a := range p.Actions {
		if a.Type != Probe && a.Type != Praise {
			acts = append(acts, a)
		}
	}
	p.Actions = acts
	return p
}

// Status says what was asked for, and how far it is.
func TestReportSaysWhatWasAsked(t *testing.T) {
	one, two := instance(files, "a", 1), instance(files, "a", 2)
	resolved := func(message string) Event {
		return Resolved{Key: files, Hash: "a", Reason: spec.ReasonProgramNotFound, Message: message, At: t0}
	}
	ready := func(st spec.Status) spec.Condition { return conditionOf(st, spec.CondReady) }

	w := world(wants(entry(files, "a")), runs(one), happened(known(one)...), happened(restartAsked, resolved("")))
	st := Report(w, Decide(w))[files]
	if c := ready(st); c.Status != spec.False || c.Reason != spec.ReasonRestartAsked || !strings.Contains(c.Message, "restart") {
		t.Errorf("to be restarted: Ready is %+v", c)
	}
	if !st.Instances[0].Outdated || st.RestartAskedAt != t0 {
		t.Errorf("to be restarted: %+v", st)
	}

	w = world(wants(entry(files, "a")), runs(one), happened(known(one)...), happened(restartAsked, resolved("not found")))
	st = Report(w, Decide(w))[files]
	if c := conditionOf(st, spec.CondStalled); c.Status != spec.True || !strings.Contains(st.Message, "not found; the former one runs on") || st.PID == 0 {
		t.Errorf("without its program: %+v, Stalled %+v", st, c)
	}

	w = world(wants(entry(files, "a", blueGreen)), runs(one, two), happened(known(one)...), happened(restartAsked, resolved("")), happened(known(two)...),
		answers("a", 1, ""), answers("a", 2, "no"))
	st = Report(w, Decide(w))[files]
	if c := ready(st); c.Status != spec.True || c.Reason != spec.ReasonRestartAsked || st.PID != one.Main.PID || !st.Instances[0].Outdated || st.Instances[1].Outdated {
		t.Errorf("beside: Ready is %+v, instances %+v", c, st.Instances)
	}

	w = world(wants(entry(files, "a")), happened(suspendAsked))
	st = Report(w, Decide(w))[files]
	if st.Phase != spec.PhaseSuspended || st.Reason != spec.ReasonSuspendedNow || !strings.Contains(st.Message, "proc-controller resume mcpserver/files") || st.SuspendedAt != t0 {
		t.Errorf("suspended at runtime: %+v", st)
	}
	w = world(wants(entry(files, "a", func(s *spec.Spec) { s.Suspend = true })), happened(suspendAsked))
	if st = Report(w, Decide(w))[files]; !strings.Contains(st.Message, "its manifest suspends it, too") {
		t.Errorf("suspended twice: %q", st.Message)
	}
}

// What was asked for is in the ledger, in what a ledger is compacted to, and in
// what is handed over; and a reboot ends only what ran.
func TestWhatWasAskedIsKept(t *testing.T) {
	in := instance(files, "a", 9)
	var kept ledger
	for _, e := range []Event{
		Started{Key: files, Token: "t", Instance: recordOf(in, false), At: t0},
		restartAsked,
		SuspendAsked{Key: other, Suspend: true, At: t0},
		SuspendAsked{Key: agent, Suspend: true, At: t0},
		SuspendAsked{Key: agent, At: t0},
	} {
		kept.Append(newRecord(e, "boot"))
	}
	lines := func(l [][]byte) func(func([]byte) bool) {
		return func(yield func([]byte) bool) {
			for _, line := range l {
				if !yield(line) {
					return
				}
			}
		}
	}
	restored := Restore("boot", lines(kept.lines))
	state, err := restored.handOver()
	if err != nil {
		t.Fatal(err)
	}
	handed, err := Resume(state)
	if err != nil {
		t.Fatal(err)
	}
	for how, h := range map[string]History{
		"restored": restored, "compacted": Restore("boot", lines(Compact("boot", kept.lines))), "handed over": handed,
		"clamped": restored.Clamped(t0.Add(time.Hour)),
	} {
		if !h.Of(files).renews(in.ID) || !h.Of(files).outdated(entry(files, "a"), in) || !h.Of(other).suspended() || h.Of(agent).suspended() {
			t.Errorf("%s: %+v, %+v, %+v", how, h.Of(files), h.Of(other), h.Of(agent))
		}
	}
	if h := Restore("another boot", lines(kept.lines)); !h.Of(other).suspended() || h.Of(files).renews(in.ID) {
		t.Errorf("after a boot: %+v, %+v", h.Of(files), h.Of(other))
	}
	// What is started afterwards is what was asked for.
	h := restored.With(Gone{Key: files, ID: in.ID}, StartAsked{Key: files, Token: "u"}, Started{Key: files, Token: "u", Instance: recordOf(instance(files, "a", 10), true)})
	if h.Of(files).renews(instance(files, "a", 10).ID) {
		t.Errorf("the new one is to be restarted: %+v", h.Of(files))
	}
}

// A restart that is asked for while a start is under way means what that brings,
// also where it is seen before the start is over.
func TestRestartDuringAStart(t *testing.T) {
	in := instance(files, "a", 9)
	h := History{}.With(StartAsked{Key: files, Token: in.ID.Token(), Hash: "a"}, restartAsked)
	if !h.Of(files).renews(in.ID) {
		t.Error("seen before its start is over: is not to be restarted")
	}
	before := h
	h = h.With(Started{Key: files, Token: in.ID.Token(), Instance: recordOf(in, true)})
	if !h.Of(files).renews(in.ID) {
		t.Error("its start is over: is not to be restarted")
	}
	if h = before.With(StartFailed{Key: files, Token: in.ID.Token(), Hash: "a", Reason: spec.ReasonSpawnFailed}); h.Of(files).Crashes != 0 {
		t.Errorf("it failed, and counts: %+v", h.Of(files))
	}
}

// Each instance that is replaced beside has its own time, also by the same program.
func TestRestartBesideHasItsTime(t *testing.T) {
	one := instance(files, "a", 1)
	h := History{}.With(known(one)...).With(restartAsked, StartAsked{Key: files, Token: "t", Hash: "a", At: t0, Beside: true})
	if r := h.Of(files).replacement("a"); r == nil || r.Since != t0 {
		t.Errorf("under way: %+v", r)
	}
	gone := h.With(Gone{Key: files, ID: one.ID})
	ended := h.With(Exited{Key: files, ID: one.ID, Hash: "a", Termination: spec.Termination{Reason: spec.ReasonStopped}})
	for what, h := range map[string]History{"gone": gone, "ended": ended} {
		if r := h.Of(files).replacement("a"); r != nil {
			t.Errorf("the former one is %s: %+v", what, r)
		}
	}
}

// The lines of the event log that are for people.
func TestOccurrencesOfWhatWasAsked(t *testing.T) {
	type line struct{ Type, Key, Message string }
	for _, tt := range []struct {
		event Event
		want  line
	}{
		{restartAsked, line{"RestartAsked", "MCPServer/files", ""}},
		{suspendAsked, line{"Suspended", "MCPServer/files", "at runtime"}},
		{SuspendAsked{Key: files}, line{"Resumed", "MCPServer/files", "at runtime"}},
		{SuspendAsked{Key: files, Why: "its manifest is gone"}, line{"Resumed", "MCPServer/files", "its manifest is gone"}},
	} {
		text, _ := json.Marshal(OccurrencesOf(tt.event)[0])
		var got line
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Error(diff)
		}
	}
}
