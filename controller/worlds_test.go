package controller

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// worldMaker draws worlds: any mixture of manifests, instances, stops under way
// and things that cannot be told, likely or not. A decision has to be sound in
// each of them, since what led there may be a mistake elsewhere.
type worldMaker struct {
	t    *rapid.T
	n    int        // processes so far
	keys []spec.Key // that may have a manifest
}

// aWorld draws one.
func aWorld(t *rapid.T) World {
	m := &worldMaker{t: t}
	w := World{Now: t0, Down: !m.mostly("not down"), Shutdown: pick(m, "shutdown", NotShuttingDown, NotShuttingDown, NotShuttingDown, ShutdownGraceful, ShutdownNow)}
	w.Desired.Complete = m.mostly("read")
	w.Observed.Complete = m.mostly("scanned")
	w.Observed.Began = t0.Add(-m.ago("scan began"))
	if !m.mostly("scan works") {
		w.Observed.Err = errTest
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "keys") {
		m.keys = append(m.keys, spec.Key{Kind: pick(m, "kind", spec.KindAgent, spec.KindMCPServer), Name: fmt.Sprintf("w%d", i)})
	}
	for _, k := range m.keys {
		if e := m.entry(k); e != nil {
			w.Desired.Entries = append(w.Desired.Entries, e)
		}
		var ins []*observe.Instance
		for range rapid.IntRange(0, 3).Draw(t, "instances") {
			ins = append(ins, m.instance(k))
		}
		w.Observed.Instances = append(w.Observed.Instances, ins...)
		w.History = w.History.With(m.events(k, ins)...)
	}
	m.doubts(&w)
	m.ports(&w)
	sortWorld(&w)
	return w
}

// sortWorld brings a world into the order that its makers promise.
func sortWorld(w *World) {
	slices.SortFunc(w.Desired.Entries, func(a, b *spec.Entry) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(w.Observed.Instances, func(a, b *observe.Instance) int {
		return cmp.Or(a.Key.Compare(b.Key), cmp.Compare(a.LastMain.Start, b.LastMain.Start), cmp.Compare(a.ID, b.ID))
	})
}

func pick[T any](m *worldMaker, label string, of ...T) T {
	return rapid.SampledFrom(of).Draw(m.t, label)
}

func (m *worldMaker) mostly(label string) bool {
	return rapid.IntRange(0, 19).Draw(m.t, label) > 0
}

func (m *worldMaker) maybe(label string) bool { return rapid.Bool().Draw(m.t, label) }

// ago is some time in the past, from now to a minute.
func (m *worldMaker) ago(label string) time.Duration {
	return pick(m, label, 0, time.Millisecond, 100*time.Millisecond, time.Second, 2*time.Second, 9*time.Second, 11*time.Second, time.Minute)
}

func (m *worldMaker) entry(k spec.Key) *spec.Entry {
	if rapid.IntRange(0, 3).Draw(m.t, "manifest") == 0 {
		return nil
	}
	e := entry(k, pick[spec.Hash](m, "hash", "a", "b"), func(s *spec.Spec) {
		n := rapid.Int32Range(0, 3).Draw(m.t, "replicas")
		s.Replicas, s.Suspend = &n, !m.mostly("runs")
		s.RestartPolicy = pick(m, "policy", spec.RestartAlways, spec.RestartOnFailure, spec.RestartNever)
		s.KillMode = pick(m, "kill mode", spec.KillTree, spec.KillGroup)
		if !m.mostly("no hook") {
			hooked(s)
		}
		if m.maybe("port") {
			s.Ports = []spec.Port{{Port: pick[int32](m, "number", 0, 80, 81)}}
		}
		if !m.mostly("no bridge") {
			overStdio(s)
		}
		if m.maybe("probes") {
			probing(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"startup", "readiness", "liveness"}), 1, 3, rapid.ID).Draw(m.t, "which")...)(s)
		}
		for _, on := range m.dependencies() {
			s.DependsOn = append(s.DependsOn, spec.Dependency{
				Kind: on.Kind, Name: on.Name,
				Condition: pick(m, "condition", spec.DependencyStarted, spec.DependencyReady, spec.DependencyCompleted),
				OnRestart: pick(m, "on restart", spec.OnRestartIgnore, spec.OnRestartRestart),
			})
		}
		if m.maybe("blue-green") {
			s.Strategy = spec.Strategy{Type: spec.BlueGreen, ProgressDeadlineSeconds: pick[int32](m, "deadline", 1, 10, 60)}
			s.Ports = pick(m, "allocated", nil, []spec.Port{{}})
		}
		if k.Kind == spec.KindAgent && m.maybe("uses servers") {
			s.MCPServers = []spec.ServerRef{{Name: pick(m, "server", "w0", "w1", "w2", "w3")}}
		}
	})
	switch rapid.IntRange(0, 9).Draw(m.t, "state of the manifest") {
	case 0:
		e.Object, e.Hash, e.Problems = nil, "", []spec.Finding{{Message: "broken"}}
	case 1:
		e.HeldUntil = t0.Add(pick(m, "held until", -time.Second, 0, time.Second))
	case 2:
		e.Problems = []spec.Finding{{Message: "broken, the last good one stands"}}
	}
	return e
}

// dependencies are some of the keys, or one that is nowhere.
func (m *worldMaker) dependencies() (on []spec.Key) {
	switch rapid.IntRange(0, 9).Draw(m.t, "dependencies") {
	case 0:
		on = append(on, spec.Key{Kind: spec.KindAgent, Name: "w9"})
	case 1, 2, 3, 4:
		on = append(on, rapid.SampledFrom(m.keys).Draw(m.t, "dependency"))
	case 5:
		on = append(on, rapid.SliceOfNDistinct(rapid.SampledFrom(m.keys), 1, 2, rapid.ID).Draw(m.t, "dependencies")...)
	}
	return on
}

// proc is a process that nobody else is.
func (m *worldMaker) proc(v observe.Verdict) *observe.Process {
	m.n++
	p := process(m.n)
	p.Verdict, p.PGID, p.SID = v, p.PID, p.PID
	return p
}

func (m *worldMaker) instance(k spec.Key) *observe.Instance {
	main := m.proc(observe.Ours)
	in := &observe.Instance{
		Key: k, ID: spec.NewInstance("abcdefghjkmn", uint64(m.n)), Hash: pick[spec.Hash](m, "hash", "a", "b"),
		OnExit: pick(m, "on exit", spec.ExitStop, spec.ExitKeep), LastMain: main.Ident, StartedAt: t0.Add(-m.ago("started")),
	}
	if m.maybe("port") {
		in.Ports = spec.PortMap{{Name: "http", Port: pick[uint16](m, "number", 80, 81, 9000)}}
	}
	for range rapid.IntRange(0, 2).Draw(m.t, "members") {
		p := m.proc(observe.Ours)
		if m.maybe("in the group") {
			p.PGID, p.SID = main.PID, main.PID
		}
		in.Members = append(in.Members, p)
	}
	if m.maybe("live") {
		in.Main = main
	} else {
		in.EndedAt = t0.Add(-m.ago("ended"))
		if !m.mostly("main known") {
			in.LastMain = observe.Ident{}
		}
	}
	if !m.mostly("all told") {
		in.Doubtful = []*observe.Process{m.proc(observe.CannotTell)}
	}
	return in
}

// events are what has happened to a key and its instances.
func (m *worldMaker) events(k spec.Key, ins []*observe.Instance) (es []Event) {
	es = append(es, m.publication(k)...)
	switch rapid.IntRange(0, 4).Draw(m.t, "past") {
	case 0:
		es = append(es, exit(k, pick[spec.Hash](m, "hash", "a", "b"), rapid.IntRange(0, 1).Draw(m.t, "code"), m.ago("exit"))...)
	case 1:
		es = append(es, StartFailed{Key: k, Hash: pick[spec.Hash](m, "hash", "a", "b"), Reason: spec.ReasonSpawnFailed, At: t0.Add(-m.ago("failed"))})
	}
	if !m.mostly("no start under way") {
		es = append(es, StartAsked{Key: k, Token: "t", Hash: "a", At: t0})
	}
	if m.maybe("resolve") {
		es = append(es, Resolved{Key: k, Hash: "a", Message: pick(m, "message", "", "not found"), At: t0.Add(-m.ago("resolved"))})
	}
	if m.maybe("dependencies noted") {
		es = append(es, PolicyNoted{Key: k, Policy: pick(m, "noted", usual, bridgedPolicy), DependsOn: m.dependencies()})
	}
	switch rapid.IntRange(0, 5).Draw(m.t, "replacement") {
	case 0:
		es = append(es, StartAsked{Key: k, Token: "b", Hash: "a", At: t0.Add(-m.ago("tried")), Beside: true}, StartFailed{Key: k, Token: "b", Hash: "a", At: t0.Add(-m.ago("tried"))})
	case 1:
		es = append(es, GaveUp{Key: k, Hash: pick[spec.Hash](m, "hash", "a", "b"), Message: "no", At: t0.Add(-m.ago("gave up"))})
	}
	if !m.mostly("not suspended") {
		es = append(es, SuspendAsked{Key: k, Suspend: true, At: t0.Add(-m.ago("suspended"))})
	}
	es = append(es, m.instanceEvents(k, ins)...)
	if !m.mostly("no restart") {
		es = append(es, RestartAsked{Key: k, At: t0.Add(-m.ago("restart asked"))})
	}
	return es
}

// instanceEvents are what has happened to the instances of a key. Of some of them
// a restart was asked for, and others were there before or came after it.
func (m *worldMaker) instanceEvents(k spec.Key, ins []*observe.Instance) (es []Event) {
	asked := -1
	if !m.mostly("no restart meanwhile") {
		asked = rapid.IntRange(0, len(ins)).Draw(m.t, "restart asked")
	}
	for i, in := range ins {
		if i == asked {
			es = append(es, RestartAsked{Key: k, At: t0.Add(-m.ago("restart asked"))})
		}
		if m.maybe("succeeds") {
			es = append(es, Succeeds{k, in.ID, t0.Add(-m.ago("ready"))})
		}
		es = append(es, Adopted{Key: k, Instance: recordOf(in, true)})
		if m.maybe("probed") {
			es = append(es, m.probes(k, in)...)
		}
		if m.maybe("stop under way") {
			es = append(es, m.stop(k, in)...)
		}
	}
	return es
}

// stop is a stop under way, in any of its states.
func (m *worldMaker) stop(k spec.Key, in *observe.Instance) []Event {
	policy := usual
	policy.Mode = pick(m, "mode", spec.KillTree, spec.KillGroup)
	asked := StopAsked{
		Key: k, ID: in.ID, Kill: m.maybe("kill"), Reason: spec.ReasonNotWanted, At: t0.Add(-m.ago("asked")), Policy: policy,
	}
	if m.maybe("reached") {
		asked.Targets = members(in)
	}
	if !m.mostly("no hook under way") {
		hook := HookAsked{Key: k, ID: in.ID, Reason: asked.Reason, At: asked.At, Policy: policy}
		if m.maybe("done") {
			return []Event{hook, HookEnded{Key: k, ID: in.ID}}
		}
		return []Event{hook}
	}
	if m.maybe("busy") {
		return []Event{asked}
	}
	return []Event{asked, Signalled{Key: k, ID: in.ID, Err: pick(m, "refused", "", "refused")}}
}

// probes are attempts that were made, and one that is under way perhaps.
func (m *worldMaker) probes(k spec.Key, in *observe.Instance) (es []Event) {
	for _, kind := range []ProbeKind{Startup, Readiness, Liveness} {
		at := t0.Add(-m.ago("first asked"))
		for range rapid.IntRange(0, 4).Draw(m.t, "attempts") {
			e := Probed{Key: k, ID: in.ID, Kind: kind, Main: in.LastMain, At: at, Successes: 1, Failures: 3}
			if m.maybe("fails") {
				e.Err = "503"
			}
			es = append(es, ProbeAsked{Key: k, ID: in.ID, Kind: kind, At: at}, e)
			at = t0.Add(-m.ago("asked")) // the clock goes either way
		}
		if !m.mostly("no attempt under way") {
			es = append(es, ProbeAsked{Key: k, ID: in.ID, Kind: kind, At: at})
		}
	}
	if !m.mostly("awake") {
		es = append(es, Slept{k, t0.Add(-m.ago("slept"))})
	}
	return es
}

// doubts are places that could not be read.
func (m *worldMaker) doubts(w *World) {
	switch rapid.IntRange(0, 5).Draw(m.t, "doubts") {
	case 0:
		w.Desired.Doubts = []spec.Doubt{{File: "d", All: true, Message: "unreadable"}}
	case 1:
		w.Desired.Doubts = []spec.Doubt{{File: "d", Names: []string{"w0"}, Message: "broken"}}
	case 2:
		w.Desired.HoldUnknownUntil = t0.Add(pick(m, "hold", -time.Second, time.Second))
	}
}

// ports are what is known of who listens.
func (m *worldMaker) ports(w *World) {
	w.Observed.Listeners = map[uint16]observe.Listener{}
	for _, port := range []uint16{80, 81, 9000} {
		if !m.maybe("read") {
			continue
		}
		l := observe.Listener{Port: port, At: t0.Add(-m.ago("read")), Listening: m.maybe("held")}
		if n := len(w.Observed.Instances); l.Listening && n > 0 && m.maybe("by one of ours") {
			in := w.Observed.Instances[rapid.IntRange(0, n-1).Draw(m.t, "holder")]
			l.Holders = []observe.Ident{in.LastMain}
		}
		w.Observed.Listeners[port] = l
	}
}

// publication is what is known of the file of an agent.
func (m *worldMaker) publication(k spec.Key) []Event {
	if k.Kind != spec.KindAgent {
		return nil
	}
	known := Published{Key: k, At: t0.Add(-m.ago("published"))}
	known.Servers = []spec.ServerEndpoint{at(pick(m, "server", "w0", "w1", "w2", "w3"), pick(m, "number", "80", "9000"))}
	failed := Published{Key: k, At: known.At, Reason: spec.ReasonMCPConfig, Message: "full"}
	return pick(m, "publication", nil, nil, []Event{known}, []Event{known, failed}, []Event{failed},
		[]Event{known, Publishing{k}}, []Event{PublicationFound{k}}, []Event{known, PublicationDoubted{k}})
}
