package controller

import (
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// The main process of a stdio server is a bridge, and the server is its child. The
// bridge starts that again when it has ended, and stops it in order when it is to
// end itself: it closes its standard input, waits, and only then signals it. So the
// stop signal goes to the bridge alone, while there is one. What the bridge tells of
// its server comes with the probes.

// firstSignal is the first signal of a stop.
func firstSignal(k spec.Key, in *observe.Instance, policy StopPolicy, reason spec.Reason) Action {
	a := Action{Type: Stop, Key: k, Instance: in, Signal: policy.Signal, Policy: policy, Reason: reason}
	if policy.Bridged && in.Live() {
		bridge := *in
		bridge.Members = nil
		a.Instance, a.Signal = &bridge, sigTerm
	}
	return a
}

// asStarted is the policy for what was started with a hash, by the manifest that has
// another perhaps: whether there is a bridge was decided then.
func (p StopPolicy) asStarted(manifest, started spec.Hash, r *InstanceRecord) StopPolicy {
	if manifest != started {
		p.Bridged = r != nil && r.Policy.Bridged
	}
	return p
}

// restartsServer says that a bridge is about to start its server again, or has: it
// has not answered yet, and a restart of the bridge would be of no help.
func restartsServer(b *observe.BridgeReport) bool {
	return b != nil && (b.Starting || !b.NextStart.IsZero())
}

// aliveBehind says that a server which does not answer is not to be restarted for it:
// its bridge does that, or it works on what clients have asked it for, which a restart
// would lose.
func aliveBehind(b *observe.BridgeReport) bool { return restartsServer(b) || b != nil && b.Busy }

// nextServer is when a bridge starts its server again; zero where that is not waited
// for.
func nextServer(b *observe.BridgeReport) time.Time {
	if b == nil {
		return time.Time{}
	}
	return b.NextStart
}

// serverAway says that a bridge has told of its server, by whatever probe it was learned
// last, that it does not run, as the phase says it too: a readiness probe that has held
// before says nothing of that. Nothing if it runs, as far as is known.
func (w *World) serverAway(readiness *spec.Probe, b *observe.BridgeReport) Reason {
	switch {
	case nextServer(b).After(w.Now):
		return Reason{Reason: spec.ReasonBackOff, Detail: b.Problem, Until: b.NextStart}
	case asksBridge(readiness) && restartsServer(b): // it is asked soon, and brings the next report
		return Reason{Reason: spec.ReasonProbeFailed, Detail: b.Problem}
	}
	return Reason{}
}

// asksBridge says that a probe brings reports of a bridge.
func asksBridge(p *spec.Probe) bool { return p != nil && p.MCP.IsStdio() }

// serverInterval is how often a bridge is asked whether its server is back.
const serverInterval = time.Second

// sameReport says that a report has nothing new that is told.
func sameReport(a, b *observe.BridgeReport) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Restarts == b.Restarts && endedAt(a).Equal(endedAt(b)) && slices.Equal(a.Findings, b.Findings) &&
		a.Starting == b.Starting && a.NextStart.Equal(b.NextStart)
}

func endedAt(b *observe.BridgeReport) time.Time {
	if b == nil || b.Last == nil {
		return time.Time{}
	}
	return b.Last.FinishedAt
}

// bridge is the newest report on an instance, or nil.
func (k *KeyHistory) bridge(id spec.Instance) *observe.BridgeReport {
	if k == nil {
		return nil
	}
	var newest ProbeState
	for i := range k.Probes {
		if st := &k.Probes[i]; st.ID == id && st.Bridge != nil && st.BridgeAt.After(newest.BridgeAt) {
			newest = *st
		}
	}
	return newest.Bridge
}

// serverRestarts is how often the bridge of an instance has started its server
// again.
func (k *KeyHistory) serverRestarts(r *InstanceRecord) int {
	if b := k.bridge(r.ID); b != nil {
		return max(b.Restarts, r.ServerRestarts)
	}
	return r.ServerRestarts
}

// keepServerRestarts takes those of an instance that has ended into the count of
// its key.
func (k *KeyHistory) keepServerRestarts(r *InstanceRecord) {
	if r.Hash == k.Hash {
		k.Restarts += k.serverRestarts(r)
	}
	r.ServerRestarts = 0
}

// reportBridges adds what bridges tell of their servers.
func (s *situation) reportBridges(st *spec.Status) {
	for _, in := range s.instances {
		r := s.history.instance(in.ID)
		if r == nil {
			continue
		}
		if r.Hash == s.history.Hash {
			st.Restarts += s.history.serverRestarts(r)
		}
		b := s.history.bridge(in.ID)
		if last := st.LastTermination; endedAt(b).IsZero() || last != nil && !endedAt(b).After(last.FinishedAt) {
			continue
		}
		t := serverTermination(b.Last)
		st.LastTermination = &t
	}
}

// ServerEnded says that the server behind a bridge ended, and that nobody had asked
// for it.
type ServerEnded struct {
	Key         spec.Key         `json:"key"`
	ID          spec.Instance    `json:"id"`
	Termination spec.Termination `json:"termination"`
	// Restarts is how often the bridge had started it again when this was learned.
	Restarts int `json:"restarts"`
}

// EventKey names the key that the event is about.
func (e ServerEnded) EventKey() spec.Key { return e.Key }

func (e ServerEnded) fold(k *KeyHistory) {
	t := e.Termination
	k.Last = &t
	if r := k.instance(e.ID); r != nil {
		r.ServerRestarts, r.ServerEndedAt = e.Restarts, t.FinishedAt
	}
}

// serverEnded finds in the report that comes with an attempt an end that was not
// told of.
func serverEnded(k *KeyHistory, e *Probed) (ServerEnded, bool) {
	b, r := e.Answer.Bridge, k.instance(e.ID)
	if r == nil || !endedAt(b).After(r.ServerEndedAt) {
		return ServerEnded{}, false
	}
	return ServerEnded{Key: e.Key, ID: e.ID, Termination: serverTermination(b.Last), Restarts: b.Restarts}, true
}

func serverTermination(end *observe.BridgeEnd) spec.Termination {
	t := spec.Termination{ExitCode: end.ExitCode, Reason: spec.ReasonError, StartedAt: end.StartedAt, FinishedAt: end.FinishedAt}
	switch {
	case end.Signal != 0:
		t.ExitCode, t.Signal = -1, spec.SignalName(end.Signal)
	case end.ExitCode == 0:
		t.Reason = spec.ReasonCompleted
	}
	return t
}

// occurrence is the line that it leaves.
func (e ServerEnded) occurrence() Occurrence {
	t := e.Termination
	o := Occurrence{
		Time: t.FinishedAt, Type: ServerHasExited, Key: e.Key.String(), Instance: e.ID, Reason: t.Reason, Signal: t.Signal,
		Message: ended(&t) + "; its bridge starts it again",
	}
	if t.Signal == "" && t.ExitCode >= 0 {
		o.ExitCode = &t.ExitCode
	}
	return o
}
