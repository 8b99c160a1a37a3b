package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// restart asks for one; it may be refused.
func (w *wishes) restart() {
	k, at := w.some(), time.Now()
	if w.c.Restart(context.Background(), k) == nil {
		w.restarted[k] = at
	}
}

// resume takes all back that was suspended at runtime.
func (w *wishes) resume() {
	for k := range w.entries {
		_ = w.c.Suspend(context.Background(), k, false) // it may be that of no manifest
	}
}

// starts counts those of a workload since the last call of done.
func starts(did []string, k spec.Key) (n int) {
	for _, d := range did {
		n += count(d == "start "+k.String())
	}
	return n
}

// statusNow gives the status of a workload.
func statusNow(m *machine, c *Controller, k spec.Key) spec.Status {
	v, err := c.View(context.Background())
	if err != nil {
		m.fault("view: %v", err)
	}
	for i := range v.Workloads {
		if v.Workloads[i].Key == k {
			return v.Workloads[i].Status
		}
	}
	return spec.Status{}
}

// A restart replaces each instance that was there once, by the strategy, and is no
// crash; nothing more is done afterwards.
func TestRestartReplacesEachInstanceOnce(t *testing.T) {
	strategies := map[string]func(*spec.Spec){
		"Recreate": func(*spec.Spec) {},
		"BlueGreen": func(s *spec.Spec) {
			s.Strategy = spec.Strategy{Type: spec.BlueGreen, ProgressDeadlineSeconds: 600}
		},
	}
	for name, strategy := range strategies {
		for seed := range uint64(20) {
			n := int32(1 + seed%3)
			faults := within(t, seed, func(m *machine, c *Controller) {
				m.publish(setOf(entry(files, "a", strategy, func(s *spec.Spec) { s.Replicas = &n })))
				wait(time.Minute)
				m.done()
				asked := time.Now()
				if err := c.Restart(t0context, files); err != nil {
					m.fault("restart: %v", err)
				}
				for _, in := range statusNow(m, c, files).Instances {
					if !in.Outdated && in.StartedAt.Before(asked) {
						m.fault("%s is shown as it was", in.Instance)
					}
				}
				wait(5 * time.Minute)
				st := statusNow(m, c, files)
				if got := starts(m.done(), files); got != int(n) || m.mains(files) != int(n) {
					m.fault("%d starts, %d run, want %d", got, m.mains(files), n)
				}
				for _, in := range st.Instances {
					if in.Outdated || in.StartedAt.Before(asked) {
						m.fault("%+v is left", in)
					}
				}
				if !st.Ready || st.Restarts != 0 || st.RestartAskedAt.Before(asked) {
					m.fault("at the end: %+v", st)
				}
			})
			for _, f := range faults {
				t.Errorf("%s, seed %d: %s", name, seed, f)
			}
		}
	}
}

// An agent that uses a server is told of the new one before the former one, which
// runs the same program, is stopped.
func TestRestartOfAServerThatIsUsed(t *testing.T) {
	faults := within(t, 2, func(m *machine, c *Controller) {
		m.publish(setOf(entry(reader, "a", uses("files")), entry(files, "a", func(s *spec.Spec) {
			s.Strategy = spec.Strategy{Type: spec.BlueGreen, ProgressDeadlineSeconds: 600}
		})))
		wait(time.Minute)
		m.done()
		if err := c.Restart(t0context, files); err != nil {
			m.fault("restart: %v", err)
		}
		wait(5 * time.Minute)
		if did := m.done(); starts(did, files) != 1 || starts(did, reader) != 0 || m.mains(files) != 1 {
			m.fault("did %q, %d run", did, m.mains(files))
		}
		w := wishes{m: m, entries: map[spec.Key]*spec.Entry{reader: entry(reader, "a")}}
		w.compareConfigs()
	})
	for _, f := range faults {
		t.Error(f)
	}
}

// What waits in back-off, has completed or has failed is started at once, and the
// next crash is the first one again.
func TestRestartStartsWhatWaits(t *testing.T) {
	for policy, code := range map[spec.RestartPolicy]int{spec.RestartAlways: 1, spec.RestartNever: 1, spec.RestartOnFailure: 0} {
		faults := within(t, 3, func(m *machine, c *Controller) {
			m.publish(setOf(entry(files, "a", func(s *spec.Spec) { s.RestartPolicy = policy })))
			crash := func() {
				wait(time.Second)
				m.mu.Lock()
				for _, p := range m.procs {
					m.end(p, code, 0)
				}
				m.mu.Unlock()
			}
			for range 60 { // up to a back-off of 32 s
				crash()
			}
			wait(time.Second)
			before := statusNow(m, c, files)
			m.done()
			if err := c.Restart(t0context, files); err != nil {
				m.fault("%s: %v", policy, err)
			}
			if st := statusNow(m, c, files); st.Phase != spec.PhaseStarting {
				m.fault("%s: it is %s when the answer comes", policy, st.Phase)
			}
			wait(200 * time.Millisecond)
			if got, st := starts(m.done(), files), statusNow(m, c, files); got != 1 || st.PID == 0 || st.Restarts != before.Restarts {
				m.fault("%s: %d starts, %+v; restarts were %d", policy, got, st, before.Restarts)
			}
			crash()
			wait(1500 * time.Millisecond)
			want := count(policy == spec.RestartAlways) // after the first delay; the others are done again
			if got := starts(m.done(), files); got != want {
				m.fault("%s: %d starts after the next end, want %d", policy, got, want)
			}
		})
		for _, f := range faults {
			t.Error(f)
		}
	}
}

// gated is a machine whose starts take as long as somebody likes.
type gated struct {
	*machine
	gate chan struct{}
}

func (g *gated) Start(e *spec.Entry, token string, prefer spec.PortMap) (*observe.Instance, error) {
	<-g.gate
	return g.machine.Start(e, token, prefer)
}

// What is just being started when a restart is asked for is replaced, too: once.
func TestRestartOfWhatIsBeingStarted(t *testing.T) {
	g := &gated{}
	faults := within(t, 4, func(m *machine, c *Controller) {
		m.publish(setOf(entry(files, "a")))
		wait(time.Second)
		if err := c.Restart(t0context, files); err != nil {
			m.fault("restart: %v", err)
		}
		g.gate <- struct{}{}
		wait(time.Minute)
		if m.mains(files) != 0 {
			m.fault("the first one was left")
		}
		g.gate <- struct{}{}
		wait(time.Minute)
		if got := starts(m.done(), files); got != 2 || !statusNow(m, c, files).Ready {
			m.fault("%d starts, %+v", got, statusNow(m, c, files))
		}
	}, func(o *Options) { g.machine, g.gate, o.Actuator = o.Actuator.(*machine), make(chan struct{}, 2), g })
	for _, f := range faults {
		t.Error(f)
	}
}

// What cannot be is refused in words, and changes nothing.
func TestWhatCannotBeAskedFor(t *testing.T) {
	zero := int32(0)
	suspended := entry(agent, "a", func(s *spec.Spec) { s.Suspend = true })
	suspended.File, suspended.Line = "/m/agent.yaml", 3
	none := entry(reader, "a", func(s *spec.Spec) { s.Replicas = &zero })
	none.File = "/m/none.yaml"
	broken := &spec.Entry{Key: other, Problems: []spec.Finding{{File: "/m/o.yaml", Line: 7, Column: 1, Message: "unknown field"}}}
	removed := spec.Key{Kind: spec.KindAgent, Name: "removed"}
	held := entry(removed, "a")
	faults := within(t, 5, func(m *machine, c *Controller) {
		check := func(what string, err, want error, words string) {
			if !errors.Is(err, want) || !strings.Contains(err.Error(), words) {
				m.fault("%s: got %v, want %v with %q", what, err, want, words)
			}
		}
		check("before the first look", c.Restart(t0context, files), ErrNotReady, "")
		held.HeldUntil = time.Now().Add(time.Hour)
		m.publish(setOf(entry(files, "a"), suspended, none, broken, held))
		wait(time.Minute)
		m.done()
		ctx := t0context
		check("unknown", c.Restart(ctx, spec.Key{Kind: spec.KindAgent, Name: "nobody"}), ErrNoWorkload, "nobody")
		check("never valid", c.Restart(ctx, other), ErrNotPossible, "MCPServer/other has no valid manifest: /m/o.yaml:7:1: unknown field")
		check("suspended", c.Restart(ctx, agent), ErrNotPossible, "Agent/agent is suspended by its manifest, /m/agent.yaml:3; to resume it: proc-controller resume agent/agent")
		check("without replicas", c.Restart(ctx, reader), ErrNotPossible, "replicas: 0 in /m/none.yaml")
		check("removed", c.Suspend(ctx, removed, true), ErrNotPossible, "no manifest names Agent/removed any more")
		check("resumed against its manifest", c.Suspend(ctx, agent, false), ErrNotPossible, "suspended by its manifest")
		if err := c.Suspend(ctx, files, true); err != nil {
			m.fault("suspend: %v", err)
		}
		check("suspended at runtime", c.Restart(ctx, files), ErrNotPossible, "MCPServer/files is suspended, asked for at runtime; to undo it: proc-controller resume mcpserver/files")
		over, cancel := context.WithCancel(ctx)
		cancel()
		if err := c.Restart(over, files); err == nil {
			m.fault("nobody waits, and it is done")
		}
		wait(time.Minute)
		if got := m.done(); slices.ContainsFunc(got, func(d string) bool { return strings.HasPrefix(d, "start") }) {
			m.fault("did %q", got)
		}
	})
	for _, f := range faults {
		t.Error(f)
	}
}

// At its end the controller refuses everything, but for an end of more.
func TestNothingIsAskedForAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(6)
		c := m.controller()
		go c.Run(t.Context())
		deaf := entry(files, "a")
		m.publish(setOf(deaf))
		wait(time.Minute)
		m.mu.Lock()
		for _, p := range m.procs {
			p.deaf = true
		}
		m.mu.Unlock()
		c.Shutdown(false)
		wait(time.Second)
		if err := c.Restart(t.Context(), files); !errors.Is(err, ErrShutDown) {
			t.Errorf("restart: %v", err)
		}
		if err := c.Suspend(t.Context(), files, true); !errors.Is(err, ErrShutDown) {
			t.Errorf("suspend: %v", err)
		}
		if err := c.Down(t.Context()); err != nil {
			t.Errorf("down: %v", err)
		}
		<-c.Done()
		for _, err := range []error{c.Restart(t.Context(), files), c.Suspend(t.Context(), files, true), c.Down(t.Context())} {
			if !errors.Is(err, ErrStopped) {
				t.Errorf("after its end: %v", err)
			}
		}
	})
}

// What is suspended at runtime stays so, whatever becomes of its manifest but for
// its removal: the next one of the same name is another workload.
func TestSuspendAtRuntime(t *testing.T) {
	faults := within(t, 7, func(m *machine, c *Controller) {
		expect := func(when string, n int, phase spec.Phase) {
			wait(time.Minute)
			m.mu.Lock()
			got := m.mains(files)
			m.mu.Unlock()
			if st := statusNow(m, c, files); got != n || st.Phase != phase || st.SuspendedAt.IsZero() == (phase == spec.PhaseSuspended) {
				m.fault("%s: %d run, %s since %v, want %d, %s", when, got, st.Phase, st.SuspendedAt, n, phase)
			}
		}
		suspend := func(suspend bool) {
			if err := c.Suspend(t0context, files, suspend); err != nil {
				m.fault("suspend %v: %v", suspend, err)
			}
		}
		m.publish(setOf(entry(files, "a")))
		expect("at first", 1, spec.PhaseRunning)
		suspend(true)
		expect("suspended", 0, spec.PhaseSuspended)
		since := statusNow(m, c, files).SuspendedAt
		suspend(true)
		expect("suspended again", 0, spec.PhaseSuspended)
		if st := statusNow(m, c, files); st.SuspendedAt != since {
			m.fault("suspended since %v, and %v", since, st.SuspendedAt)
		}
		m.publish(setOf(entry(files, "b")))
		expect("edited", 0, spec.PhaseSuspended)
		suspend(false)
		expect("resumed", 1, spec.PhaseRunning)
		suspend(true)
		m.publish(setOf())
		wait(time.Second) // no scan has looked since
		m.publish(setOf(entry(files, "b")))
		expect("another one", 1, spec.PhaseRunning)
	})
	for _, f := range faults {
		t.Error(f)
	}
}

// The next controller goes on with what the ledger tells: what is suspended stays
// down, and what was to be restarted is, once.
func TestWhatWasAskedOutlivesTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept ledger
		m := newMachine(8)
		keep := func(s *spec.Spec) { s.OnControllerExit = spec.ExitKeep }
		m.publish(setOf(entry(files, "a", keep), entry(agent, "a", keep)))
		g := &gated{machine: m, gate: make(chan struct{}, 2)}
		g.gate <- struct{}{}
		g.gate <- struct{}{}
		first := m.controller(func(o *Options) { o.Ledger, o.Actuator = &kept, &unresolved{g} })
		ctx, cancel := context.WithCancel(t.Context())
		go first.Run(ctx)
		wait(time.Minute)
		if err := errors.Join(first.Restart(ctx, files), first.Suspend(ctx, agent, true)); err != nil {
			t.Fatal(err)
		}
		wait(time.Minute)
		cancel()
		<-first.Done()
		if m.mains(files) != 1 || m.mains(agent) != 0 {
			t.Fatalf("%d and %d run: nothing is left to be restarted", m.mains(files), m.mains(agent))
		}
		m.done()
		m.publish(m.set)
		second := m.controller(func(o *Options) {
			o.Ledger, o.History = &kept, Restore("boot", slices.Values(kept.lines))
		})
		go second.Run(t.Context())
		wait(5 * time.Minute)
		if did := m.done(); starts(did, files) != 1 || starts(did, agent) != 0 {
			t.Errorf("did %q", did)
		}
		if st := statusNow(m, second, agent); st.Phase != spec.PhaseSuspended || st.SuspendedAt.IsZero() {
			t.Errorf("suspended: %+v", st)
		}
		if err := second.Down(t.Context()); err != nil {
			t.Error(err)
		}
		<-second.Done()
		for _, f := range m.faults {
			t.Error(f)
		}
	})
}

// unresolved is a machine that never finds the program of what runs.
type unresolved struct{ *gated }

func (u *unresolved) Resolve(*spec.Entry) error { return errTest }

// Down leaves nothing, whatever is kept otherwise and whatever is under way.
func TestDownLeavesNothing(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			m := newMachine(seed)
			c := m.controller()
			go c.Run(t.Context())
			var es []*spec.Entry
			for i := range 6 {
				k := spec.Key{Kind: spec.KindAgent, Name: fmt.Sprintf("w%d", i)}
				es = append(es, entry(k, "a", func(s *spec.Spec) {
					if i%2 == 0 {
						s.OnControllerExit = spec.ExitKeep
					}
				}))
			}
			m.publish(setOf(es...))
			wait(time.Duration(seed) * 25 * time.Millisecond) // some are being started
			switch seed % 3 {
			case 1:
				m.publish(setOf(es[:3]...)) // and some stopped
				wait(20 * time.Millisecond)
			case 2:
				c.Shutdown(false)
			}
			if err := c.Down(t.Context()); err != nil && !errors.Is(err, ErrStopped) {
				t.Fatal(err)
			}
			<-c.Done()
			if n := len(m.procs); n > 0 && seed%3 != 2 { // else the end may have been there before
				t.Errorf("seed %d: %d processes are left", seed, n)
			}
			for _, f := range m.faults {
				t.Errorf("seed %d: %s", seed, f)
			}
		})
	}
}

// While a handover waits for rest nothing is taken, and what was asked for
// meanwhile is taken when it has failed.
func TestDemandsWaitForAHandover(t *testing.T) {
	g := &gated{}
	faults := within(t, 9, func(m *machine, c *Controller) {
		m.publish(setOf(entry(files, "a")))
		wait(time.Second)
		h := &handing{fail: errors.New("no such program")}
		handed, asked := make(chan error, 1), make(chan error, 1)
		go func() { handed <- c.HandOver(context.Background(), h.handover()) }()
		synctest.Wait()
		go func() { asked <- c.Suspend(context.Background(), files, true) }()
		over, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Restart(over, files); err == nil {
			m.fault("restarted meanwhile")
		}
		select {
		case err := <-asked:
			m.fault("answered meanwhile: %v", err)
		default:
		}
		g.gate <- struct{}{}
		if err := <-handed; !errors.Is(err, h.fail) {
			m.fault("the handover: %v", err)
		}
		if err := <-asked; err != nil {
			m.fault("the suspension: %v", err)
		}
		if st := statusNow(m, c, files); !st.RestartAskedAt.IsZero() {
			m.fault("what nobody waited for was done: %+v", st)
		}
		wait(time.Minute)
		if m.mains(files) != 0 {
			m.fault("it runs on")
		}
	}, func(o *Options) { g.machine, g.gate, o.Actuator = o.Actuator.(*machine), make(chan struct{}, 2), g })
	for _, f := range faults {
		t.Error(f)
	}
}
