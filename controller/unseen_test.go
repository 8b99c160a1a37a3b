package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// A Keep workload whose ledger says that it ran, and of which nothing is left,
// has ended while no controller ran: restartPolicy Never is satisfied. What
// dies with the controller has not ended by itself.
func TestEndWhileNoControllerRan(t *testing.T) {
	for onExit, want := range map[spec.OnControllerExit]int{spec.ExitKeep: 0, spec.ExitStop: 1} {
		t.Run(string(onExit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMachine(1)
				e := entry(files, "a", func(s *spec.Spec) { s.RestartPolicy, s.OnControllerExit = spec.RestartNever, onExit })
				m.publish(&spec.Set{Complete: true, Entries: []*spec.Entry{e}})
				in := instance(files, "a", 1)
				in.OnExit = onExit
				h := History{}.With(Started{Key: files, Instance: recordOf(in, false)})
				c := m.controller(func(o *Options) { o.History = h })
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go c.Run(ctx)
				<-time.After(3 * time.Second)
				synctest.Wait()
				m.mu.Lock()
				got := m.mains(files)
				m.mu.Unlock()
				if got != want {
					t.Errorf("%d run, want %d", got, want)
				}
				cancel()
				<-c.Done()
			})
		})
	}
}
