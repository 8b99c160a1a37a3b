package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// Why what was asked of the controller cannot be. The message of an error says
// more, for a person.
var (
	// ErrNoWorkload says that no manifest names the key, and nothing of it runs.
	ErrNoWorkload = errors.New("no such workload")
	// ErrNotPossible says that the workload is in no state for it. The message of
	// such an error says which alone.
	ErrNotPossible = errors.New("not possible now")
	// ErrNotReady says that not everything was looked at yet.
	ErrNotReady = errors.New("the controller is not ready yet")
)

// notPossible is an ErrNotPossible, in words.
type notPossible string

func (e notPossible) Error() string { return string(e) }

// Is makes it an ErrNotPossible.
func (e notPossible) Is(target error) bool { return target == ErrNotPossible }

// demand is what somebody asks the loop to take note of.
type demand struct {
	take  func(*loop) error
	reply chan<- error
}

// demand hands something to the loop. It is back once the first plan is made that
// follows from it, so that a View shows it from then on, or once it was refused. If
// ctx ends before, it may be done all the same.
func (c *Controller) demand(ctx context.Context, take func(*loop) error) error {
	reply := make(chan error, 1)
	select {
	case c.demands <- demand{take, reply}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ended:
		return ErrStopped
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Restart asks that every instance of a workload be replaced that there is now, by
// its strategy, and that what waits, has completed or has failed be started now. It
// does not wait: a View says of each instance whether it is outdated.
//
// The error is ErrNoWorkload; ErrNotPossible where nothing of it is to run, or its
// manifest is gone or never was a good one; ErrNotReady, ErrShutDown, ErrStopped,
// or that of ctx.
func (c *Controller) Restart(ctx context.Context, k spec.Key) error {
	return c.demand(ctx, func(l *loop) error {
		e, err := l.operable(k)
		if err != nil {
			return err
		}
		s := situation{key: k, entry: e, history: l.world.History.Of(k)}
		if replicas(e, s.history) == 0 {
			return notPossible(s.atRest())
		}
		l.note(RestartAsked{Key: k, At: time.Now()})
		return nil
	})
}

// Suspend suspends a workload in addition to what its manifest says, or takes that
// back. What is so already stays as it is. It survives the controller as far as the
// ledger does, and is forgotten with the manifest.
//
// The error is as that of Restart; ErrNotPossible comes, too, after something was
// taken back whose manifest suspends it.
func (c *Controller) Suspend(ctx context.Context, k spec.Key, suspend bool) error {
	return c.demand(ctx, func(l *loop) error {
		e, err := l.operable(k)
		if err != nil {
			return err
		}
		if l.world.History.Of(k).suspended() != suspend {
			l.note(SuspendAsked{Key: k, Suspend: suspend, At: time.Now()})
		}
		if !suspend && e.Object.Spec.Suspend {
			return notPossible(suspendedBy(e))
		}
		return nil
	})
}

// Down ends the controller, and with it everything that it runs, Keep or not. It
// does not wait; Done tells. It can be asked for while the controller ends already.
// The error is ErrStopped or that of ctx.
func (c *Controller) Down(ctx context.Context) error {
	return c.demand(ctx, func(l *loop) error {
		l.world.Down = true
		l.shutDown(ShutdownGraceful)
		l.giveUp = later(l.giveUp, time.Now().Add(l.patience()))
		return nil
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// operable gives the accepted manifest of a workload, or says why nothing can be
// asked for it.
func (l *loop) operable(k spec.Key) (*spec.Entry, error) {
	l.foldNoted()
	e := l.world.Desired.Lookup(k)
	switch {
	case l.world.Shutdown != NotShuttingDown:
		return nil, ErrShutDown
	case !l.ready:
		return nil, ErrNotReady
	case e == nil && len(l.world.Observed.InstancesOf(k)) == 0:
		return nil, fmt.Errorf("%w: no %s named %s", ErrNoWorkload, k.Kind, k.Name)
	case e == nil || e.Gone():
		return nil, notPossible(fmt.Sprintf("no manifest names %v any more: it is on its way out", k))
	case e.Object == nil:
		return nil, notPossible(fmt.Sprintf("%v has no valid manifest: %s", k, findings(e.Problems)))
	}
	return e, nil
}

// atRest says why nothing of a workload is to run.
func (s *situation) atRest() string {
	switch {
	case s.history.suspended():
		return fmt.Sprintf("%v is suspended, %s", s.key, s.suspension().Detail)
	case s.entry.Object.Spec.Suspend:
		return fmt.Sprintf("%v is suspended by its manifest, %s; to resume it: %s", s.key, placeOf(s.entry), s.resume())
	}
	return fmt.Sprintf("%v has replicas: 0 in %s", s.key, placeOf(s.entry))
}

// suspendedBy says that a manifest suspends its workload.
func suspendedBy(e *spec.Entry) string {
	return fmt.Sprintf("%v is suspended by its manifest: remove suspend: true from %s", e.Key, placeOf(e))
}

// placeOf is where a manifest was read.
func placeOf(e *spec.Entry) string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	return e.File
}

// newDemands is where they come in. While a handover waits for rest none is taken:
// no plan would follow.
func (l *loop) newDemands() <-chan demand {
	if l.leaving != nil || !l.presentable() {
		return nil
	}
	return l.demands
}

// obey takes note of what is asked for. What was refused is answered at once.
func (l *loop) obey(d demand) {
	if err := d.take(l); err != nil {
		d.reply <- err
		return
	}
	l.answers = append(l.answers, func() { d.reply <- nil })
}

// answerDemands tells those whose demand the last plan follows.
func (l *loop) answerDemands() {
	for _, answer := range l.answers {
		answer()
	}
	l.answers = nil
}
