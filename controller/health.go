package controller

import (
	"fmt"
	"hash/fnv"
	"math"
	"net/netip"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// health is what the probes and the listeners of a live instance come to.
type health struct {
	// ready says that it can be used: it has started, its readiness probe holds,
	// and the port that was asked is its own; without a readiness probe it listens
	// on each declared port.
	ready bool
	// failed is why it has to be stopped: ReasonStartupFailed or
	// ReasonLivenessFailed.
	failed spec.Reason
	// why says what it is not ready for, or why it failed.
	why Reason
}

// healthOf judges a live instance by the manifest of its key.
func (w *World) healthOf(e *spec.Entry, h *KeyHistory, in *observe.Instance) health {
	sp := &e.Object.Spec
	if st := h.probe(in.ID, Liveness); sp.LivenessProbe != nil && st != nil && st.Verdict == Failing {
		return health{failed: spec.ReasonLivenessFailed, why: Reason{Reason: spec.ReasonLivenessFailed, Detail: st.Message}}
	}
	if w.startsUp(sp, h, in) {
		return w.starting(sp.StartupProbe, h.probe(in.ID, Startup))
	}
	why := w.serverAway(sp.ReadinessProbe, h.bridge(in.ID))
	if why.Reason == "" {
		why = w.unready(sp, h.probe(in.ID, Readiness), in)
	}
	return health{ready: why.Reason == "", why: why}
}

// startsUp says that the startup probe of an instance has not succeeded yet. One
// that has not been asked by it, and is older than that may take, has done so
// while another controller watched, or is not what the probe was written for: the
// patience with a start is none with a server that has hung since.
func (w *World) startsUp(sp *spec.Spec, h *KeyHistory, in *observe.Instance) bool {
	probe := sp.StartupProbe
	if probe == nil {
		return false
	}
	if st := h.probe(in.ID, Startup); st != nil {
		return !st.Passed
	}
	return w.Now.Before(firstAt(probe, in).Add(startupTime(probe) + startupMargin))
}

// startupMargin is more than passes between a spawn and the first attempt, also
// where a scope or the loop is slow.
const startupMargin = time.Minute

// startupTime is how long a start may take from the first attempt on.
func startupTime(probe *spec.Probe) time.Duration {
	return time.Duration(probe.FailureThreshold) * probe.Period()
}

// starting judges an instance whose startup probe has not succeeded yet. The
// bound is a time, not a number of attempts: those are made more often than the
// period says.
func (w *World) starting(probe *spec.Probe, st *ProbeState) health {
	if st == nil || st.Failures == 0 {
		return health{why: Reason{Reason: spec.ReasonProbing, Detail: "waiting for its startup probe"}}
	}
	until := st.Since.Add(startupTime(probe))
	hl := health{why: Reason{Reason: spec.ReasonProbeFailed, Detail: "still starting: " + st.Message, Until: until}}
	if !w.Now.Before(until) {
		hl.failed = spec.ReasonStartupFailed
		hl.why = Reason{Reason: spec.ReasonStartupFailed, Detail: st.Message}
	}
	return hl
}

// unready says why a started instance is not ready; nothing if it is.
func (w *World) unready(sp *spec.Spec, st *ProbeState, in *observe.Instance) Reason {
	probe := sp.ReadinessProbe
	if probe != nil && (st == nil || st.Verdict != Passing) {
		if st == nil || st.Message == "" {
			return Reason{Reason: spec.ReasonProbing, Detail: "waiting for its readiness probe"}
		}
		return Reason{Reason: spec.ReasonProbeFailed, Detail: st.Message}
	}
	for _, named := range neededPorts(sp, in) {
		port := named.Port
		l := w.Observed.Listeners[port]
		if probe != nil && l.At.Before(st.FailedAt) {
			return Reason{Reason: spec.ReasonChecking, Detail: fmt.Sprintf("looking who listens on port %d", port)}
		}
		if !held(l, in) {
			return notListening(l, port)
		}
	}
	return Reason{}
}

// neededPorts are the ports that an instance has to listen on itself to be
// ready: the one that its readiness probe asks, else all that it declares.
func neededPorts(sp *spec.Spec, in *observe.Instance) spec.PortMap {
	switch {
	case sp.ReadinessProbe != nil:
		return probedPort(sp.ReadinessProbe, in.Ports)
	case len(sp.Ports) > 0:
		return in.Ports
	}
	return nil
}

// probedPort is the port of this machine that a probe connects to, if any.
func probedPort(p *spec.Probe, ports spec.PortMap) spec.PortMap {
	var port, host string
	switch {
	case p.HTTPGet != nil:
		port, host = p.HTTPGet.Port, p.HTTPGet.Host
	case p.TCPSocket != nil:
		port, host = p.TCPSocket.Port, p.TCPSocket.Host
	case p.MCP != nil:
		port = p.MCP.Port
	case p.A2A != nil:
		port = p.A2A.Port
	}
	if p.Exec != nil || !isHere(host) {
		return nil
	}
	for i := range ports {
		if ports[i].Name == port {
			return ports[i : i+1]
		}
	}
	number, ok := ports.Resolve(port)
	if !ok {
		return nil
	}
	return spec.PortMap{{Port: number}}
}

// isHere says that a host is this machine's loopback. What is at another one is
// somebody else's listener.
func isHere(host string) bool {
	if host == "" || host == "127.0.0.1" || host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// notListening says why a port that an instance should listen on is not its own.
func notListening(l observe.Listener, port uint16) Reason {
	switch {
	case !l.Listening:
		return Reason{Reason: spec.ReasonNotListening, Detail: fmt.Sprintf("it does not listen on port %d yet", port)}
	case len(l.Holders) > 0:
		return Reason{Reason: spec.ReasonForeignListener, Detail: fmt.Sprintf(
			"port %d is listened on by %s, which is no part of it", port, holderText(l))}
	}
	return Reason{Reason: spec.ReasonForeignListener, Detail: fmt.Sprintf("port %d is listened on by another process, of user %s", port, l.User)}
}

// ready says that an instance is live, not being stopped, and can be used.
func (w *World) ready(e *spec.Entry, h *KeyHistory, in *observe.Instance) bool {
	return in.Live() && h.stop(in.ID) == nil && e != nil && e.Object != nil && w.healthOf(e, h, in).ready
}

// probeFor is the probe of a kind, or nil.
func probeFor(sp *spec.Spec, k ProbeKind) *spec.Probe {
	switch {
	case k == Startup:
		return sp.StartupProbe
	case k == Readiness:
		return sp.ReadinessProbe
	case k == Liveness:
		return sp.LivenessProbe
	case sp.MCP != nil:
		return &spec.Probe{MCP: sp.MCP, PeriodSeconds: 10, TimeoutSeconds: 10, SuccessThreshold: 1, FailureThreshold: 1}
	case sp.A2A != nil:
		return &spec.Probe{A2A: sp.A2A, PeriodSeconds: 10, TimeoutSeconds: 10, SuccessThreshold: 1, FailureThreshold: 1}
	}
	return nil
}

// isProbed says that there is anything to ask.
func isProbed(sp *spec.Spec) bool {
	return sp.ReadinessProbe != nil || sp.LivenessProbe != nil || sp.StartupProbe != nil || sp.MCP != nil || sp.A2A != nil
}

// attempt is one that is due now or soon.
type attempt struct {
	Action
	due time.Time
}

// watch sees to it that what is not known of the health of a live instance will
// be: it looks at its ports and asks its probes as they are due.
func (p *planner) watch(s *situation, in *observe.Instance) {
	sp := &s.entry.Object.Spec
	p.watchPorts(s, in)
	p.praiseIfGood(s, in)
	if !isProbed(sp) {
		return
	}
	if p.w.startsUp(sp, s.history, in) {
		p.ask(s, in, Startup)
		p.wake(p.w.starting(sp.StartupProbe, s.history.probe(in.ID, Startup)).why.Until)
		return
	}
	if at := nextServer(s.history.bridge(in.ID)); at.After(p.w.Now) {
		p.wake(at)
	}
	p.ask(s, in, Readiness)
	p.ask(s, in, Liveness)
	if st := s.history.probe(in.ID, Verification); st == nil || !st.Passed {
		p.ask(s, in, Verification)
	}
}

// watchAll watches what runs under a manifest.
func (p *planner) watchAll(s *situation, live []*observe.Instance) {
	if s.entry == nil || s.entry.Object == nil || s.entry.Gone() {
		return
	}
	for _, in := range live {
		p.watch(s, in)
	}
}

// ask makes an attempt if it is due, or soon will be.
func (p *planner) ask(s *situation, in *observe.Instance, kind ProbeKind) {
	probe := probeFor(&s.entry.Object.Spec, kind)
	st := s.history.probe(in.ID, kind)
	if probe == nil || st != nil && st.Busy {
		return
	}
	due := dueAt(probe, kind, st, s.history.bridge(in.ID), in)
	if due.After(p.w.Now.Add(maxAhead)) {
		p.wake(due)
		return
	}
	p.attempts = append(p.attempts, attempt{Action{
		Type: Probe, Key: s.key, Entry: s.entry, Instance: in, Kind: kind, Reason: spec.ReasonProbing,
	}, due})
}

// maxAhead is how much earlier than it is due an attempt may be made, at most:
// then one that is due takes others along, and many workloads need few wake-ups.
const maxAhead = 250 * time.Millisecond

// handOutAttempts makes those attempts that are due, and with them those that
// soon would be.
func (p *planner) handOutAttempts() {
	any := false
	for i := range p.attempts {
		any = any || !p.w.Now.Before(p.attempts[i].due)
	}
	for i := range p.attempts {
		a := &p.attempts[i]
		period := probeFor(&a.Entry.Object.Spec, a.Kind).Period()
		if ahead := min(maxAhead, period/8); any && !a.due.After(p.w.Now.Add(ahead)) {
			p.act(a.Action)
		} else {
			p.wake(a.due)
		}
	}
}

// dueAt is when the next attempt of a probe is due.
//
// Until it has succeeded for the first time, a probe that says when something
// is there is tried at growing intervals up to its period. The first interval
// after that is of a length of its own, so that what was started together is not
// asked together for ever. Where a bridge has said that its server is away, by
// the newest report or by the last one that this probe has seen, it is asked more often.
func dueAt(probe *spec.Probe, kind ProbeKind, st *ProbeState, b *observe.BridgeReport, in *observe.Instance) time.Time {
	first, period := firstAt(probe, in), probe.Period()
	switch {
	case st == nil && kind == Liveness:
		return first.Add(spread(in.ID, kind, period))
	case st == nil:
		return first
	case kind == Readiness && asksBridge(probe) && (restartsServer(b) || restartsServer(st.Bridge)):
		return st.AskedAt.Add(min(serverInterval, period))
	case kind != Liveness && !st.Passed:
		return st.AskedAt.Add(min(max(st.AskedAt.Sub(first)/4, leastProbeInterval), period))
	case st.Successes == 1 || st.AskedAt.Equal(st.Since):
		return st.AskedAt.Add(period/2 + spread(in.ID, kind, period/2))
	}
	return st.AskedAt.Add(period)
}

// firstAt is when the first attempt of a probe is due.
func firstAt(probe *spec.Probe, in *observe.Instance) time.Time {
	return in.StartedAt.Add(time.Duration(probe.InitialDelaySeconds) * time.Second)
}

// leastProbeInterval is the shortest time between two attempts.
const leastProbeInterval = 50 * time.Millisecond

// spread is some time below the limit, always the same for a probe.
func spread(id spec.Instance, kind ProbeKind, limit time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	_, _ = h.Write([]byte{byte(kind)})
	return time.Duration(float64(limit) * float64(h.Sum32()) / math.MaxUint32)
}

// stopUnhealthy stops what its probes have given up, and gives the others. The
// probes are those of the new manifest: another program may not have what they ask
// for, and the new one may not be there to take its place.
func (p *planner) stopUnhealthy(s *situation, live []*observe.Instance, wanted int) (healthy []*observe.Instance) {
	if wanted == 0 || !isProbed(&s.entry.Object.Spec) {
		return live // what is not wanted is stopped for that, and has not failed
	}
	for _, in := range live {
		hl := p.w.healthOf(s.entry, s.history, in)
		if hl.failed == "" || in.Hash != s.entry.Hash {
			healthy = append(healthy, in)
			continue
		}
		p.stopInstance(s, in, hl.failed)
		p.why(s.key, hl.why)
	}
	return healthy
}
