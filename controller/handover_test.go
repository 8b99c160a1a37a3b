package controller

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// A history that is handed over is the same one: stops in progress, and how to part
// with what has no manifest any more, included.
func TestHandedOverHistoryIsTheSame(t *testing.T) {
	in := instance(files, "a", 9)
	r := recordOf(in, true)
	r.Policy = StopPolicy{Signal: 2, Grace: time.Minute, Mode: spec.KillTree}
	h := History{}.With(
		Started{Key: files, Token: "t", Instance: r, At: t0},
		Introduced{Key: files, ID: in.ID, Entry: entry(files, "a", hooked)},
		Resolved{Key: files, Hash: "b", Reason: spec.ReasonSpawnFailed, Message: "no such program", At: t0},
		Succeeds{Key: files, ID: in.ID, Since: t0},
		StopAsked{Key: files, ID: in.ID, Reason: spec.ReasonSpecChanged, At: t0, Policy: r.Policy, Targets: []observe.Ident{{PID: 5, Start: 6}}},
		Signalled{Key: files, ID: in.ID, At: t0},
	)
	state, err := h.handOver()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Resume(state)
	if err != nil {
		t.Fatal(err)
	}
	want := h.Of(files).clone()
	want.Instances[0].Handle = false // who goes on watches it anew
	if diff := cmp.Diff(want, got.Of(files)); diff != "" {
		t.Errorf("handed over as another one: %s", diff)
	}
	if _, err := Resume([]byte("torn {")); err == nil {
		t.Error("nonsense is taken for a history")
	}
}

// handing is a handover that is tried and fails, or does not come to that.
type handing struct {
	steps []string
	state []byte
	fail  error
	rest  []observe.Exit
}

func (h *handing) handover() Handover {
	step := func(s string) { h.steps = append(h.steps, s) }
	return Handover{
		Pause:   func() []observe.Exit { step("pause"); return h.rest },
		Replace: func(state []byte) error { step("replace"); h.state = state; return h.fail },
		Resume:  func() { step("resume") },
	}
}

func TestFailedHandoverChangesNothing(t *testing.T) {
	h := &handing{fail: errors.New("no such program")}
	faults := within(t, 3, func(m *machine, c *Controller) {
		m.publish(setOf(entry(files, "a")))
		wait(time.Minute)
		m.mu.Lock()
		for id, p := range m.procs { // an end that was noticed and not delivered
			if p.main {
				delete(m.procs, id)
				h.rest = []observe.Exit{{Ident: id, Known: true, Code: 3, At: time.Now()}}
			}
		}
		m.mu.Unlock()
		if err := c.HandOver(context.Background(), h.handover()); !errors.Is(err, h.fail) {
			t.Errorf("the answer is %v", err)
		}
		wait(time.Minute)
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.mains(files) != 1 {
			t.Error("what had ended was not started again")
		}
	})
	for _, f := range faults {
		t.Error(f)
	}
	if diff := cmp.Diff([]string{"pause", "replace", "resume"}, h.steps); diff != "" {
		t.Error(diff)
	}
	got, err := Resume(h.state)
	if err != nil || got.Of(files) == nil || got.Of(files).Crashes != 1 {
		t.Errorf("the state that was handed over lacks the end that was not delivered: %s, %v", h.state, err)
	}
}

// An end that is noticed at the last moment has its dossier before the handover: the
// next image knows nothing of it. A disk that hangs does not hold it up.
func TestHandoverWaitsForDossiers(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		g := newGraves()
		kept, failed := -1, errors.New("no such program")
		faults := within(t, 13, func(m *machine, c *Controller) {
			m.publish(setOf(entry(files, "a")))
			wait(time.Minute)
			err := c.HandOver(context.Background(), Handover{
				Pause: func() (rest []observe.Exit) {
					m.mu.Lock()
					defer m.mu.Unlock()
					for id, p := range m.procs {
						if p.main {
							delete(m.procs, id)
							rest = append(rest, observe.Exit{Ident: id, Known: true, Code: 3, At: time.Now()})
						}
					}
					return rest
				},
				Replace: func([]byte) error {
					g.mu.Lock()
					defer g.mu.Unlock()
					kept = len(g.dead)
					return failed
				},
				Resume: func() {},
			})
			if !errors.Is(err, failed) {
				t.Errorf("hangs=%v: the answer is %v", hangs, err)
			}
			if hangs {
				close(g.hangs)
			}
		}, g.keep, func(*Options) {
			if hangs {
				g.hangs = make(chan struct{})
			}
		})
		for _, f := range faults {
			t.Error(f)
		}
		if want := map[bool]int{false: 1, true: 0}[hangs]; kept != want {
			t.Errorf("hangs=%v: %d dossiers at the handover, want %d", hangs, kept, want)
		}
	}
}

// What does not come to rest is not handed over, and a shutdown comes first.
func TestHandoverWaitsForRest(t *testing.T) {
	h := &handing{fail: errors.New("not to be reached")}
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(5)
		a := &stuck{machine: m, free: make(chan struct{})}
		c := m.controller(func(o *Options) { o.Actuator = a })
		ctx, cancel := context.WithCancel(t.Context())
		go c.Run(ctx)
		m.publish(setOf(entry(files, "a")))
		wait(time.Second)
		within, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := c.HandOver(within, h.handover()); err == nil || errors.Is(err, h.fail) {
			t.Errorf("the answer is %v, with a start in flight", err)
		}
		answer := make(chan error, 1)
		go func() { answer <- c.HandOver(t.Context(), h.handover()) }()
		synctest.Wait()
		c.Shutdown(false)
		if err := <-answer; !errors.Is(err, ErrShutDown) {
			t.Errorf("the answer is %v, while it shuts down", err)
		}
		close(a.free)
		cancel()
		<-c.Done()
		if err := c.HandOver(t.Context(), h.handover()); !errors.Is(err, ErrStopped) {
			t.Errorf("the answer is %v, after its end", err)
		}
	})
	if len(h.steps) > 0 {
		t.Errorf("it came to %v", h.steps)
	}
}

// stuck is a machine whose starts hang.
type stuck struct {
	*machine
	free chan struct{}
}

func (s *stuck) Start(e *spec.Entry, token string, prefer spec.PortMap) (*observe.Instance, error) {
	<-s.free
	return s.machine.Start(e, token, prefer)
}

// A child that was taken over is known before the first look: its end counts,
// also if that is all that is ever seen of it.
func TestEndOfAnInheritedChildCounts(t *testing.T) {
	in := instance(files, "a", 9)
	h := History{}.With(Started{Key: files, Token: "t", Instance: recordOf(in, true), At: t0})
	faults := within(t, 9, func(m *machine, c *Controller) {
		m.exits <- observe.Exit{Ident: in.LastMain, Known: true, Code: 7, At: time.Now()}
		m.publish(setOf(entry(files, "a")))
		wait(time.Minute)
		v, err := c.View(context.Background())
		if err != nil || len(v.Workloads) != 1 {
			t.Fatalf("%+v, %v", v, err)
		}
		st := v.Workloads[0].Status
		if st.Restarts != 1 || st.LastTermination == nil || st.LastTermination.ExitCode != 7 {
			t.Errorf("%d restarts, last end %+v; want one, and exit code 7", st.Restarts, st.LastTermination)
		}
	}, func(o *Options) { o.History, o.Inherited = h, []observe.Ident{in.LastMain} })
	for _, f := range faults {
		t.Error(f)
	}
}

// A controller that is told to end before its first look still ends what is
// there: so does a guard.
func TestShutdownBeforeTheFirstLookEndsWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(11)
		m.publish(setOf())
		main := m.spawn(simulated{key: files, id: "x-101", hash: "a", main: true, onExit: spec.ExitStop, deaf: true})
		m.spawn(simulated{key: files, id: "x-101", hash: "a", onExit: spec.ExitStop, lastMain: main.Ident})
		kept := m.spawn(simulated{key: other, id: "y-103", hash: "a", main: true, onExit: spec.ExitKeep})
		h := History{}.With(StartAsked{Key: files, Token: "x", At: time.Now(), Policy: StopPolicy{Signal: sigTerm, Grace: time.Minute}})
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := m.controller(func(o *Options) { o.History = h }).Run(ctx); err != nil {
			t.Error(err)
		}
		if len(m.procs) != 1 || m.procs[kept.Ident] == nil {
			t.Errorf("left: %v, want the one to keep", m.procs)
		}
		// Known from the start alone, which was never reported.
		if took := time.Since(began); took < time.Minute || took > time.Minute+2*time.Second {
			t.Errorf("it took %v, want the grace period of its manifest", took)
		}
	})
}

// A ledger that was deleted before a handover knows again what has ended before.
func TestHandedOverHistoryIsInTheLedger(t *testing.T) {
	in := instance(files, "a", 9)
	ended := Exited{Key: files, ID: in.ID, Hash: in.Hash, Termination: spec.Termination{Reason: spec.ReasonCompleted, FinishedAt: t0}}
	h := History{}.With(Started{Key: files, Instance: recordOf(in, true), At: t0}, ended)
	var kept ledger
	faults := within(t, 12, func(m *machine, _ *Controller) {
		m.publish(setOf(entry(files, "a", func(s *spec.Spec) { s.RestartPolicy = spec.RestartNever })))
		wait(time.Minute)
	}, func(o *Options) { o.History, o.Ledger, o.HandedOver = h, &kept, true })
	for _, f := range faults {
		t.Error(f)
	}
	if k := Restore("boot", slices.Values(kept.lines)).Of(files); k == nil || k.Ended != h.Of(files).Ended || k.Ended == 0 {
		t.Errorf("the ledger knows %+v, want what was handed over: %+v", k, h.Of(files))
	}
}
