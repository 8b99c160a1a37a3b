package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

var (
	t0    = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	files = spec.Key{Kind: spec.KindMCPServer, Name: "files"}
	other = spec.Key{Kind: spec.KindMCPServer, Name: "other"}
)

// entry is an accepted manifest of a key with the given hash.
func entry(k spec.Key, hash spec.Hash, change ...func(*spec.Spec)) *spec.Entry {
	one, grace := int32(1), int64(10)
	o := &spec.Object{Kind: k.Kind, Metadata: spec.Metadata{Name: k.Name}, Spec: spec.Spec{
		Command: []string{"server"}, Replicas: &one, TerminationGracePeriodSeconds: &grace,
		RestartPolicy: spec.RestartAlways, StopSignal: "SIGTERM", KillMode: spec.KillTree,
		OnControllerExit: spec.ExitStop,
		Backoff: spec.Backoff{
			Initial: spec.Duration(time.Second), Max: spec.Duration(5 * time.Minute),
			Factor: 2, ResetAfter: spec.Duration(10 * time.Minute),
		},
	}}
	for _, c := range change {
		c(&o.Spec)
	}
	return &spec.Entry{Key: k, Object: o, Hash: hash, File: k.Name + ".yaml"}
}

// process is a live process that started n ticks after the boot.
func process(n int) *observe.Process {
	return &observe.Process{Ident: observe.Ident{PID: 1000 + n, Start: uint64(n)}, State: 'S', Threads: 1, Command: "server", Verdict: observe.Ours}
}

// instance is a live instance of a key whose main process is process(n).
func instance(k spec.Key, hash spec.Hash, n int) *observe.Instance {
	main := process(n)
	return &observe.Instance{
		Key: k, ID: spec.NewInstance("abcdefghjkmn"[:12], uint64(n)), Hash: hash, OnExit: spec.ExitStop,
		Main: main, LastMain: main.Ident, StartedAt: t0.Add(-time.Hour),
	}
}

// ended is what remains of instance(k, hash, n) after its main process ended at
// the given time.
func endedInstance(k spec.Key, hash spec.Hash, n int, at time.Time, members ...*observe.Process) *observe.Instance {
	in := instance(k, hash, n)
	in.Main, in.EndedAt, in.Members = nil, at, members
	return in
}

// world is a world in which everything has been read, a second ago.
func world(change ...func(*World)) World {
	w := World{Now: t0}
	w.Desired.Complete = true
	w.Observed.Complete = true
	w.Observed.Began = t0.Add(-time.Second)
	for _, c := range change {
		c(&w)
	}
	return w
}

func wants(es ...*spec.Entry) func(*World) { return func(w *World) { w.Desired.Entries = es } }

func runs(ins ...*observe.Instance) func(*World) {
	return func(w *World) { w.Observed.Instances = ins }
}

func happened(es ...Event) func(*World) {
	return func(w *World) { w.History = w.History.With(es...) }
}

// exit is the unplanned end of instance n with an exit code, so long before t0.
func exit(k spec.Key, hash spec.Hash, code int, ago time.Duration) []Event {
	at := t0.Add(-ago)
	in, reason := instance(k, hash, 1), spec.ReasonError
	if code == 0 {
		reason = spec.ReasonCompleted
	}
	return []Event{
		Started{Key: k, Instance: recordOf(in, true), At: at.Add(-time.Second)},
		Exited{Key: k, ID: in.ID, Hash: hash, Termination: spec.Termination{
			ExitCode: code, Reason: reason, StartedAt: at.Add(-time.Second), FinishedAt: at,
		}, ResetAfter: 10 * time.Minute},
		Gone{Key: k, ID: in.ID},
	}
}

// said is a plan in words: what the rows of the table below are compared with.
func said(p Plan) string {
	var out []string
	for _, a := range p.Actions {
		s := a.Type.String()
		if a.Key.Name != "" {
			s += " " + a.Key.Name
		}
		if a.Instance != nil {
			_, tick, _ := strings.Cut(string(a.Instance.ID), "-")
			s += "#" + tick
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestDecideRows(t *testing.T) {
	never := func(s *spec.Spec) { s.RestartPolicy = spec.RestartNever }
	onFailure := func(s *spec.Spec) { s.RestartPolicy = spec.RestartOnFailure }
	suspended := func(s *spec.Spec) { s.Suspend = true }
	twice := func(s *spec.Spec) { n := int32(2); s.Replicas = &n }
	groupOnly := func(s *spec.Spec) { s.KillMode = spec.KillGroup }
	on80 := func(s *spec.Spec) { s.Ports = []spec.Port{{Port: 80}} }
	stopAsked := func(ago time.Duration) Event {
		return StopAsked{Key: files, ID: instance(files, "a", 1).ID, Reason: spec.ReasonNotWanted, At: t0.Add(-ago), Policy: usual}
	}
	stopReached := StopAsked{
		Key: files, ID: instance(files, "a", 1).ID, Reason: spec.ReasonNotWanted, At: t0.Add(-2 * time.Second),
		Targets: []observe.Ident{process(2).Ident}, Policy: usual,
	}
	signalled := Signalled{Key: files, ID: instance(files, "a", 1).ID}
	resolved := func(message string) Event {
		return Resolved{Key: files, Hash: "b", Reason: spec.ReasonProgramNotFound, Message: message, At: t0}
	}
	gone := func(until time.Time) *spec.Entry { e := entry(files, "a"); e.HeldUntil = until; return e }
	kept := instance(files, "a", 1)
	kept.OnExit = spec.ExitKeep
	unknownMain := endedInstance(files, "a", 1, t0.Add(-2*time.Second), process(2))
	unknownMain.LastMain = observe.Ident{}
	stray := endedInstance(other, "x", 2, t0.Add(-2*time.Second), process(3))

	for _, tt := range []struct {
		name  string
		world World
		want  string      // the actions
		why   spec.Reason // of files
		wake  time.Duration
	}{
		{"1: no scan yet", world(wants(entry(files, "a")), func(w *World) { w.Observed.Complete = false }), "", "", 0},
		{"1: no read yet", world(runs(instance(files, "a", 1)), func(w *World) { w.Desired.Complete = false }), "", "", 0},
		{"1: failed scan", world(runs(instance(files, "a", 1)), func(w *World) { w.Observed.Err = errTest }), "", "", 0},
		{"3: deletion held", world(wants(gone(t0.Add(time.Second))), runs(instance(files, "a", 1))), "", spec.ReasonDeletionHeld, time.Second},
		{"3: unread file", world(runs(instance(files, "a", 1)), func(w *World) { w.Desired.Doubts = []spec.Doubt{{All: true}} }), "", spec.ReasonAbsenceUnproven, 0},
		{"3: first read held", world(runs(instance(files, "a", 1)), func(w *World) { w.Desired.HoldUnknownUntil = t0.Add(5 * time.Second) }), "", spec.ReasonDeletionHeld, 5 * time.Second},
		{"3: never accepted", world(wants(&spec.Entry{Key: files, Problems: []spec.Finding{{}}}), runs(instance(files, "a", 1))), "", spec.ReasonInvalid, 0},
		{"5: shutdown stops", world(wants(entry(files, "a")), runs(instance(files, "a", 1)), func(w *World) { w.Shutdown = ShutdownGraceful }), "Stop files#1", spec.ReasonShutdown, 0},
		{"5: shutdown keeps", world(wants(entry(files, "a")), runs(kept), func(w *World) { w.Shutdown = ShutdownGraceful }), "", "", 0},
		{"5: shutdown at once", world(wants(entry(files, "a")), runs(instance(files, "a", 1)), func(w *World) { w.Shutdown = ShutdownNow }), "Kill files#1", spec.ReasonGraceOver, 0},
		{"6: grace over", world(runs(instance(files, "a", 1)), happened(stopAsked(11*time.Second), signalled)), "Kill files#1", spec.ReasonGraceOver, 0},
		{"6: grace over, main gone, not looked", world(runs(endedInstance(files, "a", 1, t0)), happened(stopAsked(11*time.Second), signalled)), "Look", spec.ReasonNotWanted, 0},
		{"7: stop in flight", world(runs(instance(files, "a", 1)), happened(stopAsked(2*time.Second))), "", spec.ReasonNotWanted, 8 * time.Second},
		{"7: not looked since", world(runs(instance(files, "a", 1)), happened(stopAsked(time.Second))), "Look", spec.ReasonNotWanted, 9 * time.Second},
		{"7: a member that was not known", world(runs(withMember(instance(files, "a", 1), process(2))), happened(stopAsked(2*time.Second), signalled)), "Stop files#1", spec.ReasonNotWanted, 8 * time.Second},
		{"7: members linger", world(runs(endedInstance(files, "a", 1, t0.Add(-2*time.Second), process(2))), happened(stopReached, signalled)), "Look", spec.ReasonNotWanted, 8 * time.Second},
		{"8: not wanted", world(runs(instance(files, "a", 1))), "Stop files#1", spec.ReasonNotWanted, 0},
		{"8: hold over", world(wants(gone(t0)), runs(instance(files, "a", 1))), "Stop files#1", spec.ReasonNotWanted, 0},
		{"8: suspended", world(wants(entry(files, "a", suspended)), runs(instance(files, "a", 1))), "Stop files#1", spec.ReasonSuspended, 0},
		{"8: fewer replicas, the newest goes", world(wants(entry(files, "a", twice)), runs(instance(files, "a", 1), instance(files, "a", 2), instance(files, "a", 3))), "Stop files#3", spec.ReasonScaledDown, 0},
		{"9: twin, the wrong hash goes", world(wants(entry(files, "a")), runs(instance(files, "b", 1), instance(files, "a", 2))), "Stop files#1", spec.ReasonScaledDown, 0},
		{"9: twin, the newer goes", world(wants(entry(files, "a")), runs(instance(files, "a", 1), instance(files, "a", 2))), "Stop files#2", spec.ReasonScaledDown, 0},
		{"10: not looked yet", world(wants(entry(files, "a")), runs(endedInstance(files, "a", 1, t0))), "Look", spec.ReasonChecking, 0},
		{"10: members left", world(wants(entry(files, "a")), runs(endedInstance(files, "a", 1, t0.Add(-2*time.Second), process(2)))), "Stop files#1", spec.ReasonMainGone, 0},
		{"10: what left group and session is spared", world(wants(entry(files, "a", groupOnly)), runs(endedInstance(files, "a", 1, t0.Add(-2*time.Second), process(2)))), "Start files", spec.ReasonStarting, 0},
		{"10: nothing is spared where the main process is not known", world(wants(entry(files, "a", groupOnly)), runs(unknownMain)), "Stop files#1", spec.ReasonMainGone, 0},
		{"11: other hash, unresolved", world(wants(entry(files, "b")), runs(instance(files, "a", 1))), "Resolve files", spec.ReasonChecking, 0},
		{"11: other hash, resolved", world(wants(entry(files, "b")), runs(instance(files, "a", 1)), happened(resolved(""))), "Stop files#1", spec.ReasonSpecChanged, 0},
		{"11: other hash, no program", world(wants(entry(files, "b")), runs(instance(files, "a", 1)), happened(resolved("not found"))), "", spec.ReasonProgramNotFound, 5 * time.Second},
		{"11: one replica at a time", world(wants(entry(files, "b", twice)), runs(instance(files, "a", 1), instance(files, "a", 2)), happened(resolved(""))), "Stop files#1", spec.ReasonSpecChanged, 0},
		{"12: adopt", world(wants(entry(files, "a")), runs(instance(files, "a", 1))), "", "", 0},
		{"13: cannot tell", world(wants(entry(files, "a")), runs(doubtful(files, "a", 1))), "", spec.ReasonCannotTell, 0},
		{"13: cannot tell the main, members stay", world(wants(entry(files, "a")), runs(doubtful(files, "a", 1, process(2)))), "", spec.ReasonCannotTell, 0},
		{"14: port not looked at", world(wants(entry(files, "a", on80))), "Listen", spec.ReasonChecking, 0},
		{"14: port free", world(wants(entry(files, "a", on80)), listeners(observe.Listener{Port: 80, At: t0})), "Start files", spec.ReasonStarting, time.Second},
		{"14: port held by a stranger", world(wants(entry(files, "a", on80)), listeners(observe.Listener{Port: 80, At: t0, Listening: true})), "", spec.ReasonPortHeld, time.Second},
		{"14: port held by a stray", world(wants(entry(files, "a", on80)), runs(stray), listeners(observe.Listener{Port: 80, At: t0, Listening: true, Holders: []observe.Ident{process(3).Ident}})), "Stop other#2", spec.ReasonPortStray, time.Second},
		{"15: never again", world(wants(entry(files, "a", never)), happened(exit(files, "a", 1, time.Hour)...)), "", spec.ReasonFailed, 0},
		{"15: done", world(wants(entry(files, "a", onFailure)), happened(exit(files, "a", 0, time.Hour)...)), "", spec.ReasonCompleted, 0},
		{"15: failed, again", world(wants(entry(files, "a", onFailure)), happened(exit(files, "a", 1, time.Hour)...)), "Start files", spec.ReasonStarting, 0},
		{"15: done, but for another hash", world(wants(entry(files, "b", never)), happened(exit(files, "a", 0, time.Hour)...)), "Start files", spec.ReasonStarting, 0},
		{"16: back-off", world(wants(entry(files, "a")), happened(exit(files, "a", 1, 300*time.Millisecond)...)), "", spec.ReasonBackOff, 700 * time.Millisecond},
		{"16: no back-off for another hash", world(wants(entry(files, "b")), happened(exit(files, "a", 1, 0)...)), "Start files", spec.ReasonStarting, 0},
		{"17: start", world(wants(entry(files, "a"))), "Start files", spec.ReasonStarting, 0},
		{"17: both replicas", world(wants(entry(files, "a", twice))), "Start files, Start files", spec.ReasonStarting, 0},
		{"17: not twice", world(wants(entry(files, "a")), happened(StartAsked{Key: files, Hash: "a"})), "", spec.ReasonStarting, 0},
		{"suspended, nothing runs", world(wants(entry(files, "a", suspended))), "", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := Decide(tt.world)
			if got := said(p); got != tt.want {
				t.Errorf("actions: %s, want %s", got, tt.want)
			}
			if got := p.Why[files].Reason; got != tt.why {
				t.Errorf("reason %q, want %q", got, tt.why)
			}
			var wake time.Duration
			if !p.WakeAt.IsZero() {
				wake = p.WakeAt.Sub(t0)
			}
			if wake != tt.wake {
				t.Errorf("wakes after %v, want %v", wake, tt.wake)
			}
			if diff := cmp.Diff(said(p), said(Decide(tt.world))); diff != "" {
				t.Errorf("another plan for the same world: %s", diff)
			}
			Report(tt.world, p) // must cope with each world
		})
	}
}

type testError struct{}

func (testError) Error() string { return "a test says so" }

var errTest = testError{}

// usual is how a workload is stopped that says nothing about it.
var usual = StopPolicy{Signal: sigTerm, Grace: defaultGrace, Mode: spec.KillTree}

func withMember(in *observe.Instance, m *observe.Process) *observe.Instance {
	in.Members = append(in.Members, m)
	return in
}

func doubtful(k spec.Key, hash spec.Hash, n int, members ...*observe.Process) *observe.Instance {
	in := endedInstance(k, hash, n, time.Time{}, members...)
	in.Doubtful = []*observe.Process{{Ident: in.LastMain, Verdict: observe.CannotTell}}
	return in
}

func listeners(ls ...observe.Listener) func(*World) {
	return func(w *World) {
		w.Observed.Listeners = map[uint16]observe.Listener{}
		for _, l := range ls {
			w.Observed.Listeners[l.Port] = l
		}
	}
}

// With an initial delay of zero, what has run for a while is started at once, and
// what crashes at once does not become a busy loop.
func TestNoBackoffIsNoBusyLoop(t *testing.T) {
	none := func(s *spec.Spec) { s.Backoff.Initial = 0 }
	for _, tt := range []struct {
		ran  time.Duration
		want string
	}{
		{time.Second, "Start files"},
		{10 * time.Millisecond, ""},
	} {
		crash := exit(files, "a", 1, 0)
		started := crash[0].(Started)
		started.At = t0.Add(-tt.ran)
		crash[0] = started
		w := world(wants(entry(files, "a", none)), happened(exit(files, "a", 1, time.Second)...), happened(crash...))
		if got := said(Decide(w)); got != tt.want {
			t.Errorf("a second crash after %v: %q, want %q", tt.ran, got, tt.want)
		}
		w.Now = t0.Add(leastDelay)
		if got := said(Decide(w)); got != "Start files" {
			t.Errorf("%v after the start: %q", leastDelay, got)
		}
	}
}

func TestBackoffResets(t *testing.T) {
	h := History{}.With(exit(files, "a", 1, time.Hour)...).With(exit(files, "a", 1, time.Hour)...)
	if got := h.Of(files).Crashes; got != 2 {
		t.Errorf("%d crashes, want 2", got)
	}
	healthy := exit(files, "a", 1, 0)
	e := healthy[1].(Exited)
	e.Termination.StartedAt = t0.Add(-time.Hour)
	healthy[1] = e
	if got := h.With(healthy...).Of(files).Crashes; got != 1 {
		t.Errorf("%d crashes after a healthy hour, want 1", got)
	}
}

func TestHistoryIsPersistent(t *testing.T) {
	a := History{}.With(exit(files, "a", 1, time.Hour)...)
	before := *a.Of(files)
	a.With(exit(files, "a", 1, time.Minute)...)
	if diff := cmp.Diff(before, *a.Of(files)); diff != "" {
		t.Errorf("With changed the history that it was called on: %s", diff)
	}
}
