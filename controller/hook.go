package controller

import (
	"context"
	"errors"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// A stop with a preStop hook takes one step more: the hook, then the stop signal,
// both within the one grace period, which begins with the hook. While the hook is
// under way nothing is signalled, and nothing is busy either: SIGKILL can come at
// any time, and ends the hook.

// HookState is how far the hook of a stop is.
type HookState uint8

// The states. A stop begins with HookRunning if there is a hook, and has none any
// more once the stop signal was decided on.
const (
	NoHook HookState = iota
	HookRunning
	HookDone
)

// preStopOf gives the manifest whose hook is to be done before a live instance is
// stopped, or nil: that of the key, else the one that the instance ran by when the
// key was still wanted.
func (s *situation) preStopOf(in *observe.Instance) *spec.Entry {
	e := s.entry
	if e == nil || e.Object == nil {
		r := s.history.instance(in.ID)
		if r == nil || r.Entry == nil {
			return nil
		}
		e = r.Entry
	}
	if !in.Live() || e.Object.Spec.Lifecycle.PreStop == nil {
		return nil
	}
	return e
}

// signalDue says that a stop is to go on with its signal: the hook is done, or
// nobody is there any more for whom it was.
func (st *StopState) signalDue(in *observe.Instance) bool {
	return st.Hook == HookDone || st.Hook == HookRunning && !in.Live()
}

// maxHooks bounds the hooks that run at one time. They have a bound of their own,
// as probes have. One that has to wait does so within its grace period.
const maxHooks = 64

// hooks is what the loop keeps of hooks on their way.
type hooks struct {
	queue  []func()
	flying int
	cancel map[spec.Instance]context.CancelCauseFunc
}

// errHookCutOff ends a hook that nobody waits for any more.
var errHookCutOff = errors.New("cut off: the stop waits for it no longer")

// handHook begins a stop with its hook. Its context is bound to no other: it ends
// with the grace period, or when the next signal is sent.
func (l *loop) handHook(a Action, now time.Time) {
	l.note(HookAsked{Key: a.Key, ID: a.Instance.ID, Reason: a.Reason, At: now, Policy: a.Policy})
	ctx, free := context.WithDeadline(context.Background(), now.Add(a.Policy.Grace))
	ctx, cancel := context.WithCancelCause(ctx)
	l.hooks.cancel[a.Instance.ID] = func(cause error) { cancel(cause); free() }
	l.hooks.queue = append(l.hooks.queue, func() {
		l.aside(func() outcome {
			e := HookEnded{Key: a.Key, ID: a.Instance.ID, Reason: spec.ReasonPreStop}
			if err := l.doHook(ctx, a); err != nil {
				e.Reason, e.Err = spec.ReasonPreStopFailed, err.Error()
			}
			e.At = time.Now()
			return func(l *loop) {
				l.hooks.flying--
				l.endHook(a.Instance.ID)
				l.note(e)
			}
		})
	})
}

func (l *loop) doHook(ctx context.Context, a Action) error {
	switch {
	case ctx.Err() != nil:
		return errors.New("there was no time left for it")
	case l.Prober == nil:
		return errors.New("nobody is here to do it")
	}
	return l.Prober.Do(ctx, a.Entry, a.Instance, a.Entry.Object.Spec.Lifecycle.PreStop)
}

// runHooks does those for which there is room.
func (l *loop) runHooks() {
	for len(l.hooks.queue) > 0 && l.hooks.flying < maxHooks {
		next := l.hooks.queue[0]
		l.hooks.queue = l.hooks.queue[1:]
		l.hooks.flying++
		next()
	}
}

// endHook ends the hook of an instance, if one is under way.
func (l *loop) endHook(id spec.Instance) {
	if cancel := l.hooks.cancel[id]; cancel != nil {
		cancel(errHookCutOff)
		delete(l.hooks.cancel, id)
	}
}

// HookAsked says that a stop begins with its hook, HookEnded what came of it.
type (
	HookAsked struct {
		Key    spec.Key
		ID     spec.Instance
		Reason spec.Reason
		At     time.Time
		Policy StopPolicy
	}
	HookEnded struct {
		Key    spec.Key
		ID     spec.Instance
		Reason spec.Reason // PreStop or PreStopFailed
		Err    string
		At     time.Time
	}
)

// EventKey and its like name the key that an event is about.
func (e HookAsked) EventKey() spec.Key { return e.Key }
func (e HookEnded) EventKey() spec.Key { return e.Key }

func (e HookAsked) fold(k *KeyHistory) {
	if k.stop(e.ID) == nil {
		k.Stops = append(k.Stops, StopState{ID: e.ID, Reason: e.Reason, Policy: e.Policy, At: e.At, Hook: HookRunning})
	}
}

// The end of a hook that a signal has overtaken changes nothing.
func (e HookEnded) fold(k *KeyHistory) {
	if st := k.stop(e.ID); st != nil && st.Hook == HookRunning {
		st.Hook = HookDone
	}
}

// occurrence is the line that the end of a hook leaves.
func (e HookEnded) occurrence() Occurrence {
	o := Occurrence{Time: e.At, Type: HookHasEnded, Key: e.Key.String(), Instance: e.ID, Reason: e.Reason, Message: e.Err}
	if e.Err != "" {
		o.Type = HookHasFailed
	}
	return o
}
