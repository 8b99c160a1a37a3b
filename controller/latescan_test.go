package controller

import (
	"context"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// lateScan is a machine whose scans take their time.
type lateScan struct {
	*machine
	take time.Duration
}

func scansTake(d time.Duration) func(*Options) {
	return func(o *Options) { o.Observer = &lateScan{o.Observer.(*machine), d} }
}

func (l *lateScan) Scan(ctx context.Context, known []observe.Witness, d observe.Depth) observe.Snapshot {
	wait(l.take)
	return l.machine.Scan(ctx, known, d)
}

// That the process table has been read is news for the status, also where it shows
// nothing of ours and nothing is to be done.
func TestFirstScanIsNewsAlsoWithoutInstances(t *testing.T) {
	faults := within(t, 7, func(m *machine, c *Controller) {
		m.publish(setOf(entry(files, "a", func(s *spec.Spec) { s.Suspend = true })))
		var v View
		var err error
		for range 2 {
			wait(youth + time.Second) // before the scan is back, and after it
			v, err = c.View(context.Background())
		}
		if err != nil || len(v.Workloads) != 1 || v.Workloads[0].Status.Phase != spec.PhaseSuspended {
			m.fault("view: %v, %+v", err, v.Workloads)
		}
	}, scansTake(youth+2*time.Second))
	for _, f := range faults {
		t.Error(f)
	}
}

// Who asks at the very start is told of the world as soon as it has been looked at,
// and, where that takes long, of what is missing.
func TestQuestionsWaitForTheFirstLook(t *testing.T) {
	for take, ready := range map[time.Duration]bool{youth / 2: true, time.Minute: false} {
		faults := within(t, 8, func(m *machine, c *Controller) {
			m.publish(setOf(entry(files, "a")))
			began := time.Now()
			v, err := c.View(context.Background())
			if took := time.Since(began); err != nil || v.Ready != ready || len(v.Workloads) != 1 || took < min(take, youth) || took > youth {
				m.fault("a scan takes %v: ready %v, %d workloads, %v after %v", take, v.Ready, len(v.Workloads), err, took)
			}
			if err := c.Restart(context.Background(), files); ready != (err == nil) {
				m.fault("a scan takes %v: restart: %v", take, err)
			}
		}, scansTake(take))
		for _, f := range faults {
			t.Error(f)
		}
	}
}
