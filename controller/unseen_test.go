package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// What ends while nobody watches, and could not have ended with the controller, has
// ended by itself: restartPolicy Never is satisfied. That is what outlives a
// controller, and everything while one image of it follows another. What was being
// stopped then has not, nor has what dies with the controller.
func TestEndWhileNoControllerRan(t *testing.T) {
	in := instance(files, "a", 1)
	stopping := StopAsked{Key: files, ID: in.ID, Reason: spec.ReasonSpecChanged, Policy: StopPolicy{Signal: sigTerm, Grace: time.Minute}}
	for _, c := range []struct {
		name   string
		onExit spec.OnControllerExit
		upon   []Event
		handed bool
		want   int
	}{
		{name: "Keep", onExit: spec.ExitKeep, want: 0},
		{name: "Stop", onExit: spec.ExitStop, want: 1},
		{name: "Stop, at a handover", onExit: spec.ExitStop, handed: true, want: 0},
		{name: "Keep, at a handover", onExit: spec.ExitKeep, handed: true, want: 0},
		{name: "Stop, at a handover in its stop", onExit: spec.ExitStop, upon: []Event{stopping}, handed: true, want: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := *in
				in.OnExit = c.onExit
				h := History{}.With(Started{Key: files, Instance: recordOf(&in, false)}).With(c.upon...)
				if got := runsAfter(t, h, c.onExit, c.handed); got != c.want {
					t.Errorf("%d run, want %d", got, c.want)
				}
			})
		})
	}
}

// runsAfter is how many main processes there are after a few seconds of a
// controller that begins with a history, and finds nothing.
func runsAfter(t *testing.T, h History, onExit spec.OnControllerExit, handed bool) int {
	m := newMachine(1)
	e := entry(files, "a", func(s *spec.Spec) { s.RestartPolicy, s.OnControllerExit = spec.RestartNever, onExit })
	m.publish(&spec.Set{Complete: true, Entries: []*spec.Entry{e}})
	c := m.controller(func(o *Options) { o.History, o.HandedOver = h, handed })
	ctx, cancel := context.WithCancel(t.Context())
	go c.Run(ctx)
	<-time.After(3 * time.Second)
	synctest.Wait()
	m.mu.Lock()
	got := m.mains(files)
	m.mu.Unlock()
	cancel()
	<-c.Done()
	return got
}
