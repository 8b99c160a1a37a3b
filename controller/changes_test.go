package controller

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/spec"
)

func TestSameStatusForgivesOnlyTheTimeThatIsLeft(t *testing.T) {
	now := time.Unix(1000, 0)
	status := func(why Reason, at time.Time) *spec.Status {
		text := sentence(why, at)
		return &spec.Status{
			Phase: spec.PhaseBackOff, Message: text,
			Conditions: []spec.Condition{{Type: spec.CondReady, Status: spec.False, Message: text, LastTransitionTime: now}},
		}
	}
	crash := Reason{Reason: spec.ReasonBackOff, Detail: "exit code 1", Until: now.Add(90 * time.Second)}
	bare := Reason{Reason: spec.ReasonBackOff, Until: now.Add(time.Hour)}
	other := Reason{Reason: spec.ReasonBackOff, Detail: "exit code 2", Until: now.Add(90 * time.Second)}
	tests := []struct {
		name string
		a, b *spec.Status
		want bool
	}{
		{"equal", status(crash, now), status(crash, now), true},
		{"later", status(crash, now), status(crash, now.Add(89700*time.Millisecond)), true},
		{"without a detail", status(bare, now), status(bare, now.Add(time.Minute)), true},
		{"another detail", status(crash, now), status(other, now), false},
		{"another for another", &spec.Status{Message: "waits for another hash"}, &spec.Status{Message: "waits for another port"}, false},
		{"restarts", &spec.Status{Restarts: 1}, &spec.Status{Restarts: 2}, false},
	}
	for _, tt := range tests {
		before := tt.a.Message
		if got := SameStatus(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: %v, want %v (%q, %q)", tt.name, got, tt.want, tt.a.Message, tt.b.Message)
		}
		if tt.a.Message != before || len(tt.a.Conditions) > 0 && tt.a.Conditions[0].Message != before {
			t.Errorf("%s: the status was changed", tt.name)
		}
	}
}

func TestEveryOfferWakesAllWhoWait(t *testing.T) {
	r := newReporter()
	a, b := r.changes.await(), r.changes.await()
	r.offer(World{}, Plan{})
	<-a
	<-b
	select {
	case <-r.changes.await():
		t.Error("an announcement wakes who comes after it")
	default:
	}
}

// timesOf is a status with the times of another one's conditions.
func timesOf(of *spec.Status, st spec.Status) *spec.Status {
	st.Conditions = slices.Clone(st.Conditions)
	for i := range min(len(st.Conditions), len(of.Conditions)) {
		st.Conditions[i].LastTransitionTime = of.Conditions[i].LastTransitionTime
	}
	return &st
}

// At rest the workloads of a view are those of the last one, until something changes;
// what is probed may change by itself, and is looked at each time.
func TestViewsAtRestAreMadeOnce(t *testing.T) {
	faults := within(t, 3, func(m *machine, c *Controller) {
		look := func() *Workload {
			v, err := c.View(context.Background())
			if err != nil || len(v.Workloads) != 1 {
				m.fault("view: %d workloads, error %v", len(v.Workloads), err)
				return nil
			}
			return &v.Workloads[0]
		}
		m.publish(setOf(entry(files, "a")))
		wait(time.Minute)
		first := look()
		if look() != first {
			m.fault("the workloads are made anew although nothing has changed")
		}
		m.publish(setOf(entry(files, "b")))
		wait(time.Minute)
		second := look()
		if second == first || second.Status.Hash != "b" {
			m.fault("after a change: %+v", second)
		}
		probed := entry(files, "b")
		probed.Object.Spec.ReadinessProbe = &spec.Probe{}
		m.publish(setOf(probed))
		wait(time.Minute)
		if third := look(); look() == third {
			m.fault("what is probed is not looked at")
		}
	})
	for _, f := range faults {
		t.Error(f)
	}
}

// TestWhatIsNotAnnouncedHasNotChanged lets servers come, crash and go, and looks
// whether any status differs although no change was announced.
func TestWhatIsNotAnnouncedHasNotChanged(t *testing.T) {
	checked := 0
	faults := within(t, 7, func(m *machine, c *Controller) {
		rnd := rand.New(rand.NewPCG(7, 7))
		view := func() map[spec.Key]spec.Status {
			v, err := c.View(context.Background())
			if err != nil {
				m.fault("view: %v", err)
			}
			all := Report(v.world, v.plan) // as it is, whatever was kept
			if len(all) != len(v.Workloads) {
				m.fault("%d workloads, and %d are told of", len(all), len(v.Workloads))
			}
			for _, w := range v.Workloads {
				if st := all[w.Key]; !SameStatus(&st, timesOf(&st, w.Status)) {
					m.fault("%v is told as it was: %v", w.Key, cmp.Diff(w.Status, st))
				}
				all[w.Key] = w.Status
			}
			return all
		}
		for step := range 400 {
			switch rnd.IntN(6) {
			case 0:
				m.publish(setOf(entry(files, spec.Hash([]string{"a", "b"}[rnd.IntN(2)]))))
			case 1:
				m.publish(setOf())
			case 2:
				m.mu.Lock()
				for _, p := range m.procs {
					if p.main {
						m.end(p, 1, 0)
					}
				}
				m.mu.Unlock()
			}
			changed := c.Changed()
			before := view()
			wait(time.Duration(rnd.IntN(3000)) * time.Millisecond)
			synctest.Wait()
			select {
			case <-changed:
				continue
			default:
			}
			checked++
			after := view()
			if len(before) != len(after) {
				m.fault("step %d: %d workloads have become %d, unannounced", step, len(before), len(after))
			}
			for k, a := range after {
				if b := before[k]; !SameStatus(&a, &b) {
					m.fault("step %d: unannounced: %v", step, cmp.Diff(b, a))
				}
			}
		}
	})
	for _, f := range faults {
		t.Error(f)
	}
	if checked < 20 {
		t.Errorf("only %d times nothing was announced", checked)
	}
}
