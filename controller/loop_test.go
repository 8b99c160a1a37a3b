package controller

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// within runs a test of the loop in a bubble with its own clock, and reports
// what went wrong outside of it.
func within(t *testing.T, seed uint64, f func(m *machine, c *Controller), change ...func(*Options)) (faults []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(seed)
		c := m.controller(change...)
		ctx, cancel := context.WithCancel(t.Context())
		go c.Run(ctx)
		f(m, c)
		cancel()
		<-c.Done()
		synctest.Wait()
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, p := range m.procs {
			if p.onExit == spec.ExitStop {
				m.fault("%v %v was left behind by the shutdown", p.key, p.Ident)
			}
		}
		faults = m.faults
	})
	return faults
}

func setOf(es ...*spec.Entry) *spec.Set {
	slices.SortFunc(es, func(a, b *spec.Entry) int { return a.Key.Compare(b.Key) })
	return &spec.Set{Complete: true, Entries: es}
}

func wait(d time.Duration) { <-time.After(d) }

func TestLoopStartsReplacesAndStops(t *testing.T) {
	faults := within(t, 1, func(m *machine, c *Controller) {
		expect := func(what string, hash spec.Hash, n int) {
			t.Helper()
			m.mu.Lock()
			defer m.mu.Unlock()
			got := 0
			for _, p := range m.procs {
				if p.main && p.hash == hash {
					got++
				}
			}
			if got != n || m.mains(files) != n {
				m.fault("%s: %d mains of %s and %d in all, want %d", what, got, hash, m.mains(files), n)
			}
		}
		m.publish(setOf(entry(files, "a")))
		wait(time.Minute)
		expect("dropped", "a", 1)
		m.publish(setOf(entry(files, "b")))
		wait(time.Minute)
		expect("edited", "b", 1)
		m.publish(setOf())
		wait(time.Minute)
		expect("removed", "b", 0)
	})
	for _, f := range faults {
		t.Error(f)
	}
}

func TestViewAnswersAndKeepsTransitionTimes(t *testing.T) {
	faults := within(t, 2, func(m *machine, c *Controller) {
		m.publish(setOf(entry(files, "a")))
		wait(time.Minute)
		first, err := c.View(context.Background())
		wait(time.Minute)
		second, err2 := c.View(context.Background())
		if err != nil || err2 != nil || len(first.Workloads) != 1 || len(second.Workloads) != 1 {
			m.fault("views: %v %v, %d and %d workloads", err, err2, len(first.Workloads), len(second.Workloads))
			return
		}
		st := second.Workloads[0].Status
		if !st.Ready || st.Phase != spec.PhaseRunning || st.PID == 0 {
			m.fault("not ready after a minute: %+v", st)
		}
		for i, c := range st.Conditions {
			if was := first.Workloads[0].Status.Conditions[i]; c.LastTransitionTime != was.LastTransitionTime {
				m.fault("%s moved from %v to %v without a change", c.Type, was.LastTransitionTime, c.LastTransitionTime)
			}
		}
	})
	for _, f := range faults {
		t.Error(f)
	}
}

func TestCrashLoopIsSpaced(t *testing.T) {
	faults := within(t, 3, func(m *machine, c *Controller) {
		m.publish(setOf(entry(files, "a")))
		for range 3600 { // each second, whatever runs crashes
			wait(time.Second)
			m.mu.Lock()
			for _, p := range m.procs {
				if p.main {
					m.end(p, 1, 0)
				}
			}
			m.mu.Unlock()
		}
		starts := 0
		for _, d := range m.done() {
			if d == "start "+files.String() {
				starts++
			}
		}
		// 1+2+4+…+256 s, then every 300 s: 9 + 10 starts and the first.
		if starts < 15 || starts > 24 {
			m.fault("%d starts in an hour of crashes", starts)
		}
	})
	for _, f := range faults {
		t.Error(f)
	}
}

// However a workload crashes, and whatever its back-off is, the number of starts
// in a minute is bounded by the back-off alone.
func TestStartsAreBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := spec.Backoff{
			Initial:    spec.Duration(rapid.SampledFrom([]time.Duration{0, 50 * time.Millisecond, time.Second}).Draw(rt, "initial")),
			Max:        spec.Duration(rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, 5 * time.Minute}).Draw(rt, "max")),
			Factor:     rapid.SampledFrom([]float64{1, 2, 3}).Draw(rt, "factor"),
			ResetAfter: spec.Duration(time.Hour),
		}
		n := rapid.Int32Range(1, 3).Draw(rt, "replicas")
		fails := rapid.Bool().Draw(rt, "starts fail")
		most := int(n) // starts in a minute if each crashes at once
		for at, crashes := time.Duration(0), 1; at < time.Minute; crashes++ {
			at += max(min(b.Delay(crashes), maxFailureDelay), leastDelay)
			most += int(n)
		}
		faults := within(t, rapid.Uint64().Draw(rt, "seed"), func(m *machine, c *Controller) {
			m.unready = fails
			m.publish(setOf(entry(files, "a", func(s *spec.Spec) { s.Backoff, s.Replicas = b, &n })))
			for range 600 { // whatever runs crashes
				wait(100 * time.Millisecond)
				m.mu.Lock()
				for _, p := range m.procs {
					m.end(p, 1, 0)
				}
				m.mu.Unlock()
			}
			starts := len(slices.DeleteFunc(m.done(), func(d string) bool { return d != "start "+files.String() }))
			m.mu.Lock()
			m.unready = false
			if starts > most {
				m.fault("%d starts in a minute of crashes, want at most %d", starts, most)
			}
			m.mu.Unlock()
		})
		for _, f := range faults {
			rt.Error(f)
		}
	})
}

// A scan may show that a main process has ended before its exit is told of. What
// it has left is stopped at once; the end is no planned one for that.
func TestEndThatAScanShowsFirstIsNotPlanned(t *testing.T) {
	faults := within(t, 4, func(m *machine, c *Controller) {
		m.publish(setOf(entry(files, "a", func(s *spec.Spec) { s.RestartPolicy = spec.RestartOnFailure })))
		wait(time.Second)
		m.mu.Lock()
		var main *simulated
		for _, p := range m.procs {
			if p.main {
				main = p
			}
		}
		m.spawn(simulated{key: main.key, id: main.id, hash: main.hash, onExit: main.onExit, lastMain: main.Ident})
		delete(m.procs, main.Ident)
		m.mu.Unlock()
		m.done()
		wait(2 * resyncEvery)
		if did := m.done(); !slices.Contains(did, "signal "+files.String()) {
			m.fault("what was left is not stopped: %v", did)
		}
		m.exits <- observe.Exit{Ident: main.Ident, Known: true, At: time.Now()}
		wait(time.Hour)
		if did := m.done(); len(did) > 0 {
			m.fault("started again after exit code 0: %v", did)
		}
	})
	for _, f := range faults {
		t.Error(f)
	}
}

// While a start is on its way another replica is asked for, and the start of that
// one runs first: with this seed it does.
func TestStartsOfTwoSetsMayCross(t *testing.T) {
	faults := within(t, 0x661d7763a, func(m *machine, c *Controller) {
		w := newWishes(m, c)
		m.mu.Lock()
		d := time.Duration(m.rand.IntN(3000)) * time.Millisecond
		m.mu.Unlock()
		wait(d)
		disturbances[0].do(w)
		wait(20 * time.Minute)
		w.compare()
	})
	for _, f := range faults {
		t.Error(f)
	}
}

// quickScan is a machine whose first scan is back before the loop sleeps.
type quickScan struct {
	*machine
	scans int
}

func (q *quickScan) Scan(ctx context.Context, known []observe.Witness, d observe.Depth) observe.Snapshot {
	if q.scans++; q.scans > 1 {
		return q.machine.Scan(ctx, known, d)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.scan()
}

// A controller that was told to end before it began stops what dies with it, and
// decides nothing else, in whatever order things come: that no manifest names a
// workload which is kept is not for it to act upon.
func TestEndBeforeTheBeginning(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			m := newMachine(seed)
			m.publish(setOf())
			m.mu.Lock()
			m.spawn(simulated{key: files, id: spec.NewInstance("kept", 101), hash: "a", onExit: spec.ExitKeep, main: true})
			m.spawn(simulated{key: other, id: spec.NewInstance("dies", 102), hash: "a", onExit: spec.ExitStop, main: true})
			m.mu.Unlock()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			c := m.controller(func(o *Options) { o.Observer = &quickScan{machine: m} })
			if err := c.Run(ctx); err != nil {
				t.Fatal(err)
			}
			if kept, dies := m.mains(files), m.mains(other); kept != 1 || dies != 0 {
				t.Errorf("seed %d: %d kept and %d that die with it", seed, kept, dies)
			}
		})
	}
}

// TestLoopProperties drives the loop through random histories: edits, removals,
// broken files, crashes, failing scans. Never may a twin be started or a
// protected workload be signalled; and when the world has become quiet, what
// runs is what is wanted, and nothing more is done.
func TestLoopProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		steps := rapid.SliceOfN(rapid.SampledFrom(disturbances), 1, 40).Draw(rt, "steps")
		faults := within(t, seed, func(m *machine, c *Controller) {
			w := newWishes(m, c)
			for _, step := range steps {
				m.mu.Lock()
				d := time.Duration(m.rand.IntN(3000)) * time.Millisecond
				m.mu.Unlock()
				wait(d)
				step.do(w)
			}
			w.calm()
			wait(20 * time.Minute)
			m.done()
			w.compare()
			wait(5 * time.Minute)
			if did := m.done(); len(did) > 0 {
				m.mu.Lock()
				m.fault("still at work in a quiet world: %v", did)
				m.mu.Unlock()
			}
		})
		for _, f := range faults {
			rt.Error(f)
		}
	})
}

// wishes are the manifests of a property test.
type wishes struct {
	m       *machine
	entries map[spec.Key]*spec.Entry
	doubts  []spec.Doubt
	edits   int
	c       *Controller
	// restarted is when a restart was last asked for.
	restarted map[spec.Key]time.Time
}

func newWishes(m *machine, c *Controller) *wishes {
	w := &wishes{m: m, c: c, entries: map[spec.Key]*spec.Entry{}, restarted: map[spec.Key]time.Time{}}
	for i := range 3 {
		k := spec.Key{Kind: spec.KindAgent, Name: fmt.Sprintf("w%d", i)}
		w.entries[k] = entry(k, "h0", hooked)
	}
	w.entries[files] = entry(files, "h0")
	w.entries[reader] = entry(reader, "h0", uses("files"))
	w.publish()
	return w
}

func (w *wishes) publish() {
	var es []*spec.Entry
	for _, e := range w.entries {
		es = append(es, e)
	}
	s := setOf(es...)
	s.Doubts = w.doubts
	w.m.publish(s)
}

// some gives a key by chance.
func (w *wishes) some() spec.Key {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	return spec.Key{Kind: spec.KindAgent, Name: fmt.Sprintf("w%d", w.m.rand.IntN(3))}
}

// calm mends everything that was disturbed.
func (w *wishes) calm() {
	w.m.mu.Lock()
	w.m.failing, w.m.unready, w.m.full = false, false, false
	for _, p := range w.m.procs {
		p.veiled = false
	}
	w.m.mu.Unlock()
	w.doubts = nil
	w.publish()
	w.resume()
}

// compare holds what runs against what is wanted.
func (w *wishes) compare() {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	for k := range 3 {
		key := spec.Key{Kind: spec.KindAgent, Name: fmt.Sprintf("w%d", k)}
		want, e := 0, w.entries[key]
		if e != nil {
			want = replicas(e, nil)
		}
		if got := w.m.mains(key); got != want {
			w.m.fault("%v: %d run, %d wanted", key, got, want)
		}
		for _, p := range w.m.procs {
			if p.key == key && (e == nil || p.hash != e.Hash) {
				w.m.fault("%v: %v of %s is left", key, p.Ident, p.hash)
			}
			if p.key == key && !p.began.After(w.restarted[key]) {
				w.m.fault("%v: %v began at %v, and a restart was asked for at %v", key, p.Ident, p.began, w.restarted[key])
			}
		}
	}
	w.compareConfigs()
}

// compareConfigs holds what agents are told against where their servers are.
func (w *wishes) compareConfigs() {
	var want []spec.ServerEndpoint
	for _, p := range w.m.procs {
		if p.main && p.key == files && w.entries[reader] != nil {
			e, _ := (*spec.MCP)(nil).Endpoint(files.Name, portsOf(p.Ident))
			want = append(want, e)
		}
	}
	// A server that is not there any more is where it was.
	if got := w.m.configs[reader]; len(want) > 0 && !slices.Equal(got, want) || w.entries[reader] == nil && got != nil {
		w.m.fault("the agent is told %v, want %v", got, want)
	}
}

// disturbance is one thing that happens to the world.
type disturbance struct {
	name string
	do   func(*wishes)
}

func (d disturbance) String() string { return d.name }

var disturbances = []disturbance{
	{"edit", func(w *wishes) {
		w.edits++
		k := w.some()
		n := int32(1 + w.edits%2)
		w.entries[k] = entry(k, spec.Hash(fmt.Sprintf("h%d", w.edits)), func(s *spec.Spec) {
			s.Replicas = &n
			if w.edits%3 == 0 {
				s.Strategy = spec.Strategy{Type: spec.BlueGreen, ProgressDeadlineSeconds: 3600}
			}
			if w.edits%3 > 0 {
				hooked(s)
			}
		})
		w.publish()
	}},
	{"suspend", func(w *wishes) {
		k := w.some()
		if e := w.entries[k]; e != nil {
			w.entries[k] = entry(k, e.Hash, func(s *spec.Spec) {
				s.Suspend, s.Strategy = !e.Object.Spec.Suspend, e.Object.Spec.Strategy
			})
			w.publish()
		}
	}},
	{"remove", func(w *wishes) { delete(w.entries, w.some()); w.publish() }},
	{"hide", func(w *wishes) {
		k := w.some()
		delete(w.entries, k)
		w.doubts = append(w.doubts, spec.Doubt{File: "broken.yaml", Message: "broken", Names: []string{k.Name}})
		w.publish()
	}},
	{"mend", func(w *wishes) { w.doubts = nil; w.publish() }},
	{"crash", func(w *wishes) { w.crash(func(p *simulated) bool { return p.main }) }},
	{"crash of a member", func(w *wishes) { w.crash(func(p *simulated) bool { return !p.main }) }},
	{"a member cannot be told", func(w *wishes) { w.veil(true) }},
	{"members can be told", func(w *wishes) { w.veil(false) }},
	{"scans fail", func(w *wishes) { w.m.mu.Lock(); w.m.failing = true; w.m.mu.Unlock() }},
	{"scans work", func(w *wishes) { w.m.mu.Lock(); w.m.failing = false; w.m.mu.Unlock() }},
	{"starts fail", func(w *wishes) { w.m.mu.Lock(); w.m.unready = true; w.m.mu.Unlock() }},
	{"edit the server", func(w *wishes) {
		w.edits++
		w.entries[files] = entry(files, spec.Hash(fmt.Sprintf("h%d", w.edits)))
		w.publish()
	}},
	{"crash of the server", func(w *wishes) { w.crash(func(p *simulated) bool { return p.main && p.key == files }) }},
	{"remove the reader", func(w *wishes) { delete(w.entries, reader); w.publish() }},
	{"want a reader", func(w *wishes) {
		w.edits++
		w.entries[reader] = entry(reader, spec.Hash(fmt.Sprintf("h%d", w.edits)), uses("files"))
		w.publish()
	}},
	{"files cannot be written", func(w *wishes) { w.m.mu.Lock(); w.m.full = true; w.m.mu.Unlock() }},
	{"files can be written", func(w *wishes) { w.m.mu.Lock(); w.m.full = false; w.m.mu.Unlock() }},
	{"a file is deleted", func(w *wishes) {
		w.m.mu.Lock()
		delete(w.m.configs, reader)
		w.m.lostAt = time.Now()
		w.m.mu.Unlock()
	}},
	{"ask for a restart", (*wishes).restart},
	{"suspend at runtime", func(w *wishes) { _ = w.c.Suspend(context.Background(), w.some(), true) }},
	{"resume", func(w *wishes) { _ = w.c.Suspend(context.Background(), w.some(), false) }},
	{"starts work", func(w *wishes) { w.m.mu.Lock(); w.m.unready = false; w.m.mu.Unlock() }},
}

// veil makes members unreadable, or readable again.
func (w *wishes) veil(veiled bool) {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	for _, p := range w.m.procs {
		if !p.main {
			p.veiled = veiled
		}
	}
}

func (w *wishes) crash(which func(*simulated) bool) {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	for _, p := range w.m.procs {
		if which(p) {
			w.m.end(p, 1, 0)
			return
		}
	}
}
