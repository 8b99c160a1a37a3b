package controller

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// slowScan holds a scan back after it has read: what happens meanwhile is not in
// its answer.
type slowScan struct {
	Observer
	hold    atomic.Bool
	held    chan struct{} // a scan has read and is held
	release chan struct{}
}

func (s *slowScan) Scan(ctx context.Context, known []observe.Witness, d observe.Depth) observe.Snapshot {
	snapshot := s.Observer.Scan(ctx, known, d)
	if s.hold.CompareAndSwap(true, false) {
		s.held <- struct{}{}
		<-s.release
	}
	return snapshot
}

// during runs a test of what happens while a scan is under way: before runs
// ahead of the scan, meanwhile after it has read, and after when it is back.
func during(t *testing.T, before, meanwhile, after func(*machine, *Controller)) {
	var slow slowScan
	faults := within(t, 5, func(m *machine, c *Controller) {
		before(m, c)
		slow.hold.Store(true)
		<-slow.held // the next resync
		meanwhile(m, c)
		slow.release <- struct{}{}
		synctest.Wait() // taken, decided upon; the next scan takes its time
		after(m, c)
	}, func(o *Options) {
		slow.Observer, slow.held, slow.release = o.Observer, make(chan struct{}), make(chan struct{})
		o.Observer = &slow
	})
	for _, f := range faults {
		t.Error(f)
	}
}

// shown is what status says of files.
func shown(m *machine, c *Controller) (spec.Phase, int) {
	v, err := c.View(context.Background())
	if err != nil || len(v.Workloads) != 1 {
		m.fault("view: %v, %d workloads", err, len(v.Workloads))
		return "", 0
	}
	return v.Workloads[0].Status.Phase, v.Workloads[0].Status.PID
}

func TestScanUnderWayDoesNotLoseAStart(t *testing.T) {
	during(t,
		func(m *machine, _ *Controller) { m.publish(setOf()); wait(time.Second) },
		func(m *machine, c *Controller) {
			m.publish(setOf(entry(files, "a")))
			wait(time.Second)
			if p, pid := shown(m, c); p != spec.PhaseRunning || pid == 0 {
				m.fault("not started while a scan is under way: %s, pid %d", p, pid)
			}
		},
		func(m *machine, c *Controller) {
			if p, pid := shown(m, c); p != spec.PhaseRunning || pid == 0 {
				m.fault("a scan that began before the start has hidden it: %s, pid %d", p, pid)
			}
			if n := len(slices.DeleteFunc(m.done(), func(d string) bool { return d != "start "+files.String() })); n != 1 {
				m.fault("%d starts, want 1", n)
			}
		})
}

func TestScanUnderWayDoesNotRaiseTheDead(t *testing.T) {
	during(t,
		func(m *machine, _ *Controller) { m.publish(setOf(entry(files, "a"))); wait(time.Second) },
		func(m *machine, c *Controller) {
			m.mu.Lock()
			for _, p := range m.procs {
				if p.main {
					m.end(p, 1, 0)
				}
			}
			m.mu.Unlock()
			synctest.Wait()
		},
		func(m *machine, c *Controller) {
			if p, pid := shown(m, c); p == spec.PhaseRunning {
				m.fault("a scan that began before the end shows the dead process: %s, pid %d", p, pid)
			}
			wait(5 * time.Second) // the back-off is a second, a resync is far off
			if p, pid := shown(m, c); p != spec.PhaseRunning || pid == 0 {
				m.fault("not started again: %s, pid %d", p, pid)
			}
		})
}
