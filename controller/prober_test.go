package controller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// asked is the Prober of a machine: servers that answer, fail or hang as a test
// says. What a probe is for is told by the port that it asks.
type asked struct {
	m *machine

	mu       sync.Mutex
	failing  map[string]error // by port
	hanging  map[string]bool
	attempts []questioned
	// do is what a hook does; nil for nothing.
	do func(ctx context.Context) error
}

// questioned is one attempt.
type questioned struct {
	key  spec.Key
	id   spec.Instance
	port string
	at   time.Time
}

func newAsked(m *machine) *asked {
	return &asked{m: m, failing: map[string]error{}, hanging: map[string]bool{}}
}

// askedBy is the Prober that a controller of a machine has.
func askedBy(c *Controller) *asked { return c.Prober.(*asked) }

func (a *asked) Probe(ctx context.Context, q observe.Question) (observe.Answer, error) {
	port := ""
	switch {
	case q.Probe.TCPSocket != nil:
		port = q.Probe.TCPSocket.Port
	case q.Verify:
		port = "verify"
	}
	a.mu.Lock()
	a.attempts = append(a.attempts, questioned{q.Entry.Key, q.Instance.ID, port, time.Now()})
	err, hangs := a.failing[port], a.hanging[port]
	a.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return observe.Answer{}, errors.New("no answer in time")
	}
	a.m.pause()
	if err != nil {
		return observe.Answer{}, err
	}
	if q.Verify {
		return observe.Answer{Server: &spec.ServerInfo{Name: q.Entry.Key.Name}}, nil
	}
	return observe.Answer{}, nil
}

func (a *asked) Do(ctx context.Context, e *spec.Entry, in *observe.Instance, _ *spec.Hook) error {
	a.m.mu.Lock()
	a.m.did = append(a.m.did, "hook "+e.Key.String())
	if p := a.m.procs[in.LastMain]; p == nil || in.Key != e.Key {
		a.m.fault("the hook of %v is done although %v is gone", e.Key, in.LastMain)
	}
	a.m.mu.Unlock()
	a.m.pause()
	a.mu.Lock()
	do := a.do
	a.mu.Unlock()
	if do == nil {
		return nil
	}
	return do(ctx)
}

// hook has hooks do something.
func (a *asked) hook(do func(ctx context.Context) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.do = do
}

func (a *asked) Forget(spec.Instance) {}

// fail has the servers behind a port answer with an error; nil mends them.
func (a *asked) fail(port string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failing[port] = err
}

// hang has the servers behind a port not answer at all.
func (a *asked) hang(port string, hangs bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hanging[port] = hangs
}

// of gives the attempts at a port, and forgets all.
func (a *asked) of(port string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.attempts {
		if q.port == port {
			n++
		}
	}
	a.attempts = nil
	return n
}

// asking says that there was an attempt at a port since it was last asked of.
func (a *asked) asking(port string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.attempts, func(q questioned) bool { return q.port == port })
}

// probing gives a spec probes; each asks a port of its name.
func probing(kinds ...string) func(*spec.Spec) {
	return func(s *spec.Spec) {
		for _, k := range kinds {
			p := &spec.Probe{
				TCPSocket:     &spec.TCPSocketAction{Port: k, Host: "example.org"}, // whose listener it is does not count
				PeriodSeconds: 10, TimeoutSeconds: 2, SuccessThreshold: 1, FailureThreshold: 3,
			}
			switch k {
			case "startup":
				s.StartupProbe = p
			case "readiness":
				s.ReadinessProbe = p
			case "liveness":
				s.LivenessProbe = p
			}
		}
	}
}
