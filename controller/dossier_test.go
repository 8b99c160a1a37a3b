package controller

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

var t0context = context.Background()

// graves is a Deaths in memory.
type graves struct {
	mu     sync.Mutex
	dead   []spec.Dossier
	good   []spec.Run
	forgot []spec.Key
	hangs  chan struct{} // while it is not nil and open
}

func newGraves() *graves { return &graves{} }

func (g *graves) keep(o *Options) { o.Deaths = g }

func (g *graves) Latest() map[spec.Key]*spec.Dossier {
	if g.hangs != nil {
		<-g.hangs
	}
	return map[spec.Key]*spec.Dossier{other: {Key: other, PID: 7}}
}

func (g *graves) Add(d spec.Dossier, _ spec.Facts) spec.Dossier {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dead = append(g.dead, d)
	return d
}

func (g *graves) Good(_ spec.Key, r spec.Run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.good = append(g.good, r)
}

func (g *graves) Forget(k spec.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgot = append(g.forgot, k)
}

// endMain ends the main process of files.
func (m *machine) endMain(code, signal int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.procs {
		if p.main && p.key == files {
			m.end(p, code, signal)
		}
	}
}

func TestUnplannedDeathsLeaveADossier(t *testing.T) {
	oneShot := func(s *spec.Spec) { s.RestartPolicy = spec.RestartOnFailure }
	for _, tt := range []struct {
		name string
		e    *spec.Entry
		act  func(m *machine)
		want int
	}{
		{"a crash", entry(files, "a"), func(m *machine) { m.endMain(3, 0) }, 1},
		{"a signal from elsewhere", entry(files, "a"), func(m *machine) { m.endMain(-1, 9) }, 1},
		{"exit code 0 of what is to run always", entry(files, "a"), func(m *machine) { m.endMain(0, 0) }, 1},
		{"a one-shot that is done", entry(files, "a", oneShot), func(m *machine) { m.endMain(0, 0) }, 0},
		{"a one-shot that failed", entry(files, "a", oneShot), func(m *machine) { m.endMain(1, 0) }, 1},
		{"a stop", entry(files, "a"), func(m *machine) { m.publish(setOf(entry(files, "a", func(s *spec.Spec) { s.Suspend = true }))) }, 0},
		{"an edit", entry(files, "a"), func(m *machine) { m.publish(setOf(entry(files, "b"))) }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGraves()
			faults := within(t, 7, func(m *machine, c *Controller) {
				m.publish(setOf(tt.e))
				wait(time.Minute)
				tt.act(m)
				wait(100 * time.Millisecond)
				if d := statusOf(m, c).LastDeath; (d != nil) != (tt.want > 0) {
					m.fault("last death %+v", d)
				}
				wait(time.Minute)
			}, g.keep)
			if len(g.dead) != tt.want {
				t.Errorf("%d dossiers, want %d: %+v", len(g.dead), tt.want, g.dead)
			}
			for _, d := range g.dead {
				if d.Key != files || d.PID == 0 || d.Hash != "a" || d.Uptime < spec.Duration(50*time.Second) {
					t.Errorf("dossier %+v", d)
				}
				if retry := d.NextRetry.Sub(d.FinishedAt); retry != time.Second {
					t.Errorf("next retry %v after the death, want the initial back-off of 1s", retry)
				}
			}
			for _, f := range faults {
				t.Error(f)
			}
		})
	}
}

// A disk that hangs holds up nothing but the dossiers.
func TestDeathsThatHangHinderNothing(t *testing.T) {
	g := newGraves()
	faults := within(t, 8, func(m *machine, c *Controller) {
		defer close(g.hangs)
		m.publish(setOf(entry(files, "a")))
		wait(time.Minute)
		m.endMain(3, 0)
		wait(10 * time.Second)
		st := statusOf(m, c)
		if st.Phase != spec.PhaseRunning || st.Restarts != 1 || st.LastTermination == nil || st.LastDeath != nil {
			m.fault("%+v", st)
		}
	}, g.keep, func(*Options) { g.hangs = make(chan struct{}) })
	for _, f := range faults {
		t.Error(f)
	}
}

// What is kept of a key goes when the key does, also where it is only known by
// what is kept.
func TestForgottenKeysLoseTheirDossiers(t *testing.T) {
	g := newGraves()
	var dismissed []spec.Key
	faults := within(t, 9, func(m *machine, _ *Controller) {
		m.publish(setOf(entry(files, "a")))
		wait(time.Minute)
		m.endMain(3, 0)
		wait(time.Minute)
		m.publish(setOf())
		wait(2 * resyncEvery)
		m.mu.Lock()
		defer m.mu.Unlock()
		dismissed = slices.Clone(m.dismissed)
	}, g.keep)
	for _, k := range []spec.Key{files, other} {
		if !slices.Contains(g.forgot, k) || !slices.Contains(dismissed, k) {
			t.Errorf("%v is not forgotten", k)
		}
	}
	for _, f := range faults {
		t.Error(f)
	}
}

func TestGoodRunsAreWrittenDownOnce(t *testing.T) {
	for _, tt := range []struct {
		name  string
		e     *spec.Entry
		after time.Duration
		act   func(m *machine)
		want  int
	}{
		{"it runs", entry(files, "a"), time.Minute, nil, 0},
		{"it has run for the healthy stretch", entry(files, "a"), time.Hour, nil, 1},
		{"its probe succeeds", entry(files, "a", probing("readiness")), time.Minute, nil, 1},
		{"it crashed", entry(files, "a"), time.Minute, func(m *machine) { m.endMain(3, 0) }, 0},
		{"it is replaced", entry(files, "a"), time.Minute, func(m *machine) { m.publish(setOf(entry(files, "b"))) }, 1},
		{"it is replaced at once", entry(files, "a"), time.Second, func(m *machine) { m.publish(setOf(entry(files, "b"))) }, 0},
		{
			"a one-shot has done its work", entry(files, "a", func(s *spec.Spec) { s.RestartPolicy = spec.RestartNever }), time.Second,
			func(m *machine) { m.endMain(0, 0) }, 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGraves()
			faults := within(t, 11, func(m *machine, _ *Controller) {
				m.publish(setOf(tt.e))
				wait(tt.after)
				if tt.act != nil {
					tt.act(m)
				}
				wait(15 * time.Second)
				g.mu.Lock()
				defer g.mu.Unlock()
				if len(g.good) != tt.want {
					m.fault("%d good runs, want %d", len(g.good), tt.want)
				}
				for _, r := range g.good {
					if r.Instance == "" || r.StartedAt.IsZero() || r.Fields["spec.command"] == "" {
						m.fault("good run %+v", r)
					}
				}
			}, g.keep)
			for _, f := range faults {
				t.Error(f)
			}
		})
	}
}

// The last dossier goes along when another program takes the place of this one.
func TestHandoverKeepsTheLastDossier(t *testing.T) {
	d := &spec.Dossier{Key: files, PID: 4711, OOMKilled: true}
	state, err := History{}.With(Died{Key: files, Dossier: d}).handOver()
	if err != nil {
		t.Fatal(err)
	}
	h, err := Resume(state)
	if err != nil || h.Of(files).Death == nil || h.Of(files).Death.PID != d.PID {
		t.Errorf("%+v, %v", h.Of(files), err)
	}
}

// A newer dossier stands when an older one comes late.
func TestOlderDossierChangesNothing(t *testing.T) {
	of := func(pid int, at time.Time) Died {
		return Died{Key: files, Dossier: &spec.Dossier{PID: pid, Termination: spec.Termination{FinishedAt: at}}}
	}
	h := History{}.With(of(2, t0), of(1, t0.Add(-time.Second)), Died{Key: files})
	if got := h.Of(files).Death.PID; got != 2 {
		t.Errorf("pid %d, want that of the newer one", got)
	}
}
