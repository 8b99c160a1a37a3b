package controller

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// givenUp is a machine on which the first start is waited for until a scan has
// seen its process, and then ended by whoever started it, who alone knows of that
// end. The scan that saw it comes back before that is told, or after.
type givenUp struct {
	*machine
	after bool

	main   *simulated
	failed time.Time // when the first start did
	second time.Time // when the second began
	seen   chan struct{}
	once   sync.Once
}

func (g *givenUp) Start(e *spec.Entry, token string, prefer spec.PortMap) (*observe.Instance, error) {
	if g.main != nil {
		g.second = time.Now()
		return g.machine.Start(e, token, prefer)
	}
	g.mu.Lock()
	g.main = g.spawn(simulated{key: e.Key, hash: e.Hash, main: true, onExit: e.Object.Spec.OnControllerExit, id: spec.NewInstance(token, uint64(g.pid+1))})
	g.mu.Unlock()
	<-g.seen
	if !g.after {
		wait(time.Second)
	}
	g.mu.Lock()
	delete(g.procs, g.main.Ident)
	g.mu.Unlock()
	g.failed = time.Now()
	return nil, wrapperFailed{errTest}
}

func (g *givenUp) Scan(ctx context.Context, known []observe.Witness, d observe.Depth) observe.Snapshot {
	s := g.machine.Scan(ctx, known, d)
	if slices.ContainsFunc(s.Instances, (*observe.Instance).Live) {
		g.once.Do(func() {
			close(g.seen)
			if g.after {
				wait(time.Second)
			}
		})
	}
	return s
}

// kinds keeps the types of what is written to a ledger.
type kinds struct{ all []string }

func (k *kinds) Append(v any) { k.all = append(k.all, v.(record).Type) }

// A scan that has seen the process of a start which then fails does not keep the
// workload from being started again until the next resync, and neither is that
// process taken for one that was found: its end would count a second time.
func TestFailedStartThatAScanHasSeen(t *testing.T) {
	for _, after := range []bool{false, true} {
		for _, onExit := range []spec.OnControllerExit{spec.ExitStop, spec.ExitKeep} {
			g, ledger := &givenUp{after: after}, &kinds{}
			faults := within(t, 7, func(m *machine, _ *Controller) {
				m.publish(setOf(entry(files, "a", func(s *spec.Spec) {
					s.OnControllerExit, s.Backoff.Initial, s.Backoff.Max = onExit, 0, 0
				})))
				wait(2 * time.Minute)
				m.mu.Lock()
				defer m.mu.Unlock()
				if later := g.second.Sub(g.failed); later < 0 || later > 5*time.Second {
					m.fault("started again %v after it failed", later)
				}
				if want := []string{"StartAsked", "StartFailed", "StartAsked", "Started"}; !slices.Equal(ledger.all, want) {
					m.fault("the ledger has %v, want %v", ledger.all, want)
				}
			}, func(o *Options) {
				g.machine, g.seen = o.Actuator.(*machine), make(chan struct{})
				o.Actuator, o.Observer, o.Ledger = g, g, ledger
			})
			for _, f := range faults {
				t.Errorf("told after it: %v, %v: %s", after, onExit, f)
			}
		}
	}
}
