package controller

import (
	"context"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// lateScan is a machine whose scans take a second.
type lateScan struct{ *machine }

func (l *lateScan) Scan(ctx context.Context, known []observe.Witness, d observe.Depth) observe.Snapshot {
	wait(time.Second)
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
			wait(800 * time.Millisecond) // before the scan is back, and after it
			v, err = c.View(context.Background())
		}
		if err != nil || len(v.Workloads) != 1 || v.Workloads[0].Status.Phase != spec.PhaseSuspended {
			m.fault("view: %v, %+v", err, v.Workloads)
		}
	}, func(o *Options) { o.Observer = &lateScan{o.Observer.(*machine)} })
	for _, f := range faults {
		t.Error(f)
	}
}
