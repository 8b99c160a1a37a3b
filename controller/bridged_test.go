package controller

import (
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// overStdio makes a manifest that of a stdio server.
func overStdio(s *spec.Spec) {
	s.Ports = []spec.Port{{Name: "http", Port: 80}}
	s.MCP = &spec.MCP{Transport: spec.TransportStdio, Port: "http", Path: "/mcp"}
	probing("readiness", "liveness")(s)
	s.ReadinessProbe.FailureThreshold, s.ReadinessProbe.MCP = 1, s.MCP
}

// bridged is a live instance with a bridge as its main process, and the server that
// is its child.
func bridged(hash spec.Hash) *observe.Instance {
	in := withMember(instance(files, hash, 1), process(2))
	in.Members[0].PGID = 1002 // a group of its own
	return in
}

// bridgedPolicy is how what is behind a bridge is stopped.
var bridgedPolicy = StopPolicy{Signal: sigTerm, Grace: defaultGrace, Mode: spec.KillTree, Bridged: true}

// begun says that an instance was started behind a bridge.
func begun(in *observe.Instance) Event {
	r := recordOf(in, true)
	r.Policy = policyOf(&entry(files, "a", overStdio).Object.Spec)
	return Started{Key: files, Instance: r, At: in.StartedAt}
}

// ledgerOf are the lines that events leave.
func ledgerOf(t *testing.T, events ...Event) iter.Seq[[]byte] {
	t.Helper()
	var kept ledger
	for _, e := range events {
		kept.Append(newRecord(e, "boot"))
	}
	return slices.Values(kept.lines)
}

func firstOf(t *testing.T, p Plan, typ ActionType) Action {
	t.Helper()
	for _, a := range p.Actions {
		if a.Type == typ {
			return a
		}
	}
	t.Fatalf("no %v in %s", typ, said(p))
	return Action{}
}

// The stop signal goes to the bridge, whatever the manifest has for the server, and
// to the rest only when there is no bridge any more.
func TestABridgeIsToldFirst(t *testing.T) {
	in := bridged("a")
	e := entry(files, "a", overStdio, func(s *spec.Spec) { s.Suspend, s.StopSignal = true, "SIGINT" })
	stop := firstOf(t, Decide(world(wants(e), runs(in), happened(begun(in)))), Stop)
	if stop.Signal != sigTerm || len(stop.Instance.Members) != 0 || stop.Instance.Main == nil || !stop.Policy.Bridged {
		t.Errorf("the first signal is %d, to %d members", stop.Signal, len(stop.Instance.Members))
	}
	if len(in.Members) != 1 {
		t.Error("the instance has lost a member by it")
	}
	asked := StopAsked{Key: files, ID: in.ID, Reason: spec.ReasonSuspended, At: t0.Add(-3 * time.Second), Policy: stop.Policy}
	done := Signalled{Key: files, ID: in.ID, At: asked.At}
	if got := said(Decide(world(wants(e), runs(in), happened(begun(in), asked, done)))); strings.Contains(got, "Stop") || strings.Contains(got, "Kill") {
		t.Errorf("while the bridge stops its server: %q", got)
	}
	left := endedInstance(files, "a", 1, t0.Add(-2*time.Second), in.Members...)
	late := firstOf(t, Decide(world(wants(e), runs(left), happened(begun(in), asked, done))), Stop)
	if late.Signal != 2 || len(late.Instance.Members) != 1 {
		t.Errorf("what a bridge has left gets signal %d, %d of it", late.Signal, len(late.Instance.Members))
	}
	asked.At = t0.Add(-time.Minute)
	kill := firstOf(t, Decide(world(wants(e), runs(in), happened(begun(in), asked, done))), Kill)
	if len(kill.Instance.Members) != 1 {
		t.Error("at the end of the grace period the server is not killed")
	}
}

// What was started stays what it is, whatever its manifest says by now, or whether
// there is one: that is noted, and survives with the ledger.
func TestABridgeIsKnownWithoutItsManifest(t *testing.T) {
	in := bridged("a")
	plain := entry(files, "b", func(s *spec.Spec) { s.Suspend = true })
	noted := PolicyNoted{Key: files, Hash: "b", Policy: policyOf(&plain.Object.Spec)}
	lines := ledgerOf(t, begun(in), noted)
	restored := Restore("boot", lines)
	for name, w := range map[string]World{
		"another manifest":          world(wants(plain), runs(in), happened(begun(in))),
		"another one that is noted": world(wants(plain), runs(in), happened(begun(in), noted)),
		"none":                      world(runs(in), happened(begun(in), noted)),
		"none, after a restart":     world(runs(in), func(w *World) { w.History = restored }),
		"none, on the way out":      world(runs(in), func(w *World) { w.History, w.Shutdown = restored, ShutdownGraceful }),
	} {
		stop := firstOf(t, Decide(w), Stop)
		if !stop.Policy.Bridged || len(stop.Instance.Members) != 0 {
			t.Errorf("%s: bridged is %v, and %d members are signalled at first", name, stop.Policy.Bridged, len(stop.Instance.Members))
		}
	}
	other := instance(files, "b", 3)
	started := Started{Key: files, Instance: recordOf(other, true), At: t0}
	h := History{}.With(begun(in), started, PolicyNoted{Key: files, Hash: "b", Policy: noted.Policy})
	if r := h.Of(files).instance(other.ID); r.Policy.Bridged {
		t.Error("what was started without a bridge has one")
	}
}

// reported are the events of an attempt with which a report came.
func reported(in *observe.Instance, kind ProbeKind, err string, b *observe.BridgeReport, at time.Time) []Event {
	return []Event{
		ProbeAsked{Key: files, ID: in.ID, Kind: kind, At: at},
		Probed{Key: files, ID: in.ID, Kind: kind, At: at, Err: err, Answer: observe.Answer{Bridge: b}, Successes: 1, Failures: 1},
	}
}

func crashed(next time.Time, restarts int) *observe.BridgeReport {
	return &observe.BridgeReport{
		Problem: "the server ended with exit code 3", NextStart: next, Restarts: restarts,
		Last: &observe.BridgeEnd{ExitCode: 3, StartedAt: t0.Add(-time.Minute), FinishedAt: t0.Add(-time.Second)},
	}
}

// A bridge that waits before it starts its server again is shown as a workload that
// waits itself.
func TestTheBackOffOfABridgeIsShown(t *testing.T) {
	in, e := bridged("a"), entry(files, "a", overStdio)
	w := world(wants(e), runs(in), happened(begun(in)), happened(reported(in, Readiness, "", &observe.BridgeReport{}, t0.Add(-time.Minute))...),
		happened(reported(in, Readiness, "the server ended with exit code 3", crashed(t0.Add(4*time.Second), 2), t0)...))
	st := Report(w, Decide(w))[files]
	if st.Phase != spec.PhaseBackOff || st.Restarts != 2 || st.Ready {
		t.Errorf("phase %s, %d restarts, ready %v", st.Phase, st.Restarts, st.Ready)
	}
	if c := conditionOf(st, spec.CondAvailable); c.Status != spec.False || c.Reason != spec.ReasonBackOff || c.Message != "the server ended with exit code 3 (for another 4s)" {
		t.Errorf("Available is %+v", c)
	}
	if l := st.LastTermination; l == nil || l.ExitCode != 3 || l.Reason != spec.ReasonError {
		t.Errorf("the last termination is %+v", l)
	}
	w.Now = t0.Add(5 * time.Second)
	if st := Report(w, Decide(w))[files]; st.Phase != spec.PhaseRunning {
		t.Errorf("once the time has come the phase is %s", st.Phase)
	}
}

// What any probe has learned last of a server counts for all that is told of it, also
// where the readiness probe has not seen it yet, or has seen what is over.
func TestTheNewestReportOfABridgeCounts(t *testing.T) {
	away, starting, back := crashed(t0.Add(4*time.Second), 1), crashed(time.Time{}, 1), &observe.BridgeReport{Restarts: 1}
	starting.Starting, starting.Problem = true, "it was started"
	for _, tt := range []struct {
		name      string
		was, is   *observe.BridgeReport // by the readiness probe, and then by the liveness probe
		at        time.Duration
		phase     spec.Phase
		available spec.Reason
		soon      bool // the readiness probe is
	}{
		{"it waits", &observe.BridgeReport{}, away, 0, spec.PhaseBackOff, spec.ReasonBackOff, true},
		{"it should have been started", &observe.BridgeReport{}, away, 5 * time.Second, spec.PhaseRunning, spec.ReasonProbeFailed, true},
		{"it was started", &observe.BridgeReport{}, starting, 0, spec.PhaseRunning, spec.ReasonProbeFailed, true},
		{"it is back", away, back, 0, spec.PhaseRunning, spec.ReasonProbeFailed, true},
		{"it runs", &observe.BridgeReport{}, back, 0, spec.PhaseRunning, spec.ReasonRunning, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, e := bridged("a"), entry(files, "a", overStdio)
			w := world(wants(e), runs(in), happened(begun(in)), happened(reported(in, Readiness, "", &observe.BridgeReport{}, t0.Add(-20*time.Second))...),
				happened(reported(in, Readiness, tt.was.Problem, tt.was, t0.Add(-time.Second))...), happened(reported(in, Liveness, "", tt.is, t0)...))
			w.Observed.Listeners = map[uint16]observe.Listener{80: {Listening: true, Holders: []observe.Ident{in.Main.Ident}, At: t0}}
			w.Now = t0.Add(tt.at)
			st := Report(w, Decide(w))[files]
			c := conditionOf(st, spec.CondAvailable)
			if st.Phase != tt.phase || c.Reason != tt.available || (c.Status == spec.True) != (tt.available == spec.ReasonRunning) || st.Ready != (c.Status == spec.True) {
				t.Errorf("phase %s, ready %v, Available is %+v", st.Phase, st.Ready, c)
			}
			h := w.History.Of(files)
			due := dueAt(e.Object.Spec.ReadinessProbe, Readiness, h.probe(in.ID, Readiness), h.bridge(in.ID), in)
			if got := due.Equal(t0.Add(serverInterval - time.Second)); got != tt.soon {
				t.Errorf("the readiness probe is due %v later", due.Sub(t0))
			}
		})
	}
}

// A readiness probe that does not ask the bridge brings no report of it: what the other
// has told is over once the server is due.
func TestReadinessThatAsksNoBridge(t *testing.T) {
	e := entry(files, "a", overStdio, func(s *spec.Spec) { s.ReadinessProbe.MCP = nil })
	in, away := bridged("a"), crashed(t0.Add(4*time.Second), 1)
	w := world(wants(e), runs(in), happened(begun(in)), happened(reported(in, Readiness, "", nil, t0.Add(-20*time.Second))...),
		happened(reported(in, Readiness, "", nil, t0.Add(-time.Second))...), happened(reported(in, Liveness, "", away, t0)...))
	w.Observed.Listeners = map[uint16]observe.Listener{80: {Listening: true, Holders: []observe.Ident{in.Main.Ident}, At: t0}}
	for at, want := range map[time.Duration]spec.Reason{0: spec.ReasonBackOff, 5 * time.Second: spec.ReasonRunning} {
		w.Now = t0.Add(at)
		if c := conditionOf(Report(w, Decide(w))[files], spec.CondAvailable); c.Reason != want {
			t.Errorf("after %v Available is %+v, want %s", at, c, want)
		}
	}
	h := w.History.Of(files)
	if due := dueAt(e.Object.Spec.ReadinessProbe, Readiness, h.probe(in.ID, Readiness), h.bridge(in.ID), in); due.Equal(t0.Add(serverInterval - time.Second)) {
		t.Error("it is asked more often")
	}
}

// A liveness probe that finds the server about to be started again, or at work, would
// restart the bridge, and every session with it, for nothing.
func TestABridgeThatRestartsItsServerIsAlive(t *testing.T) {
	for name, tt := range map[string]struct {
		report *observe.BridgeReport
		alive  bool
	}{
		"waits":        {crashed(t0, 0), true},
		"starts it":    {&observe.BridgeReport{Starting: true, Problem: "it is being started"}, true},
		"works":        {&observe.BridgeReport{PID: 7, Busy: true, Problem: "no answer to a ping: it works on 1 request"}, true},
		"no answer":    {&observe.BridgeReport{PID: 7, Problem: "no answer to a ping"}, false},
		"no bridge":    {nil, false},
		"not a bridge": {&observe.BridgeReport{}, false},
	} {
		if got := aliveBehind(tt.report); got != tt.alive {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The restarts of a server count with those of its bridge, and stay when that ends.
func TestRestartsOfAServerCount(t *testing.T) {
	in, e := bridged("a"), entry(files, "a", overStdio)
	probes := append(reported(in, Liveness, "", &observe.BridgeReport{Restarts: 2}, t0.Add(-time.Second)), reported(in, Readiness, "", &observe.BridgeReport{Restarts: 3}, t0)...)
	w := world(wants(e), runs(in), happened(begun(in)), happened(probes...))
	st := Report(w, Decide(w))[files]
	if st.Restarts != 3 || st.Instances[0].Restarts != 3 {
		t.Errorf("%d restarts, %d of the instance, want 3 by the newest report", st.Restarts, st.Instances[0].Restarts)
	}
	exited := Exited{Key: files, ID: in.ID, Hash: "a", Termination: spec.Termination{ExitCode: 1, Reason: spec.ReasonError, FinishedAt: t0}}
	w = world(wants(e), happened(begun(in)), happened(probes...), happened(exited, Gone{Key: files, ID: in.ID}))
	if st := Report(w, Decide(w))[files]; st.Restarts != 3 {
		t.Errorf("after the end of the bridge there are %d restarts", st.Restarts)
	}
}

// Each end of a server is told of once, by whatever probe it is learned.
func TestAnEndOfAServerIsToldOnce(t *testing.T) {
	in := bridged("a")
	h := History{}.With(begun(in))
	probed := reported(in, Readiness, "", crashed(time.Time{}, 1), t0)[1].(Probed)
	e, ok := serverEnded(h.Of(files), &probed)
	if !ok || e.Restarts != 1 || e.Termination.ExitCode != 3 {
		t.Fatalf("the end is %+v, %v", e, ok)
	}
	if o := OccurrencesOf(e); len(o) != 1 || o[0].Type != ServerHasExited || *o[0].ExitCode != 3 {
		t.Errorf("the line is %+v", o)
	}
	h = h.With(e)
	probed.Kind = Liveness
	if _, again := serverEnded(h.Of(files), &probed); again {
		t.Error("it is told twice")
	}
	if _, again := serverEnded(Restore("boot", ledgerOf(t, begun(in), e)).Of(files), &probed); again {
		t.Error("the next controller tells it again")
	}
	gone := observe.BridgeEnd{ExitCode: -1, Signal: 9, FinishedAt: t0}
	if got := serverTermination(&gone); got.Signal != "SIGKILL" || got.ExitCode != -1 || got.Reason != spec.ReasonError {
		t.Errorf("the end by a signal is %+v", got)
	}
}

func TestFindingsOfABridgeAreWarnings(t *testing.T) {
	in, e := bridged("a"), entry(files, "a", overStdio)
	w := world(wants(e), runs(in), happened(begun(in)), happened(reported(in, Readiness, "", &observe.BridgeReport{Findings: []string{"writes to stdout what is no JSON-RPC"}}, t0)...))
	if ws := Report(w, Decide(w))[files].Warnings; len(ws) != 1 || ws[0].Reason != spec.ReasonServerFinding {
		t.Errorf("the warnings are %+v", ws)
	}
}

func TestEndpointOfATokenIsResolvedFromItsManifest(t *testing.T) {
	e := entry(files, "a", overStdio, func(s *spec.Spec) { s.MCP.Auth = &spec.MCPAuth{TokenFile: "token"} })
	e.Dir = "/etc/manifests"
	w := world(wants(e))
	p := planner{w: &w}
	in := bridged("a")
	in.Ports = spec.NewPortMap(spec.NamedPort{Name: "http", Port: 80})
	w.Observed.Instances = []*observe.Instance{in}
	w.History = w.History.With(append([]Event{begun(in)}, reported(in, Readiness, "", &observe.BridgeReport{}, t0)...)...)
	w.Observed.Listeners = map[uint16]observe.Listener{80: {Port: 80, Listening: true, At: t0, Holders: []observe.Ident{in.Main.Ident}}}
	got := p.endpoint(spec.ServerEndpoint{Name: files.Name})
	if got.URL != "http://127.0.0.1:80/mcp" || got.TokenFile != "token" || got.Dir != "/etc/manifests" {
		t.Errorf("the endpoint is %+v", got)
	}
}
