package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// ErrShutDown is the answer to a handover while the controller ends.
var ErrShutDown = errors.New("the controller is being shut down")

// Handover is how another program takes the place of this one. The functions
// are called from the loop, in this order, and the loop stands still meanwhile.
type Handover struct {
	// Pause stops the ends of processes from being noticed and gives those that
	// were noticed and did not come through Exits.
	Pause func() []observe.Exit
	// Replace puts the other program in our place, and gives it the state, which
	// Resume understands. It returns only if that failed.
	Replace func(state []byte) error
	// Resume takes Pause back.
	Resume func()
}

// leaving is a handover that was asked for.
type leaving struct {
	Handover
	ctx   context.Context
	reply chan<- error
	// late ends the wait for what waits for the disk; hasty says that it has.
	late  <-chan time.Time
	hasty bool
}

// recordsWithin is how long a handover waits for the disk to take what is known of
// ends. Without it they count all the same.
const recordsWithin = 2 * time.Second

// errNotYet says that something has ended in the last moment.
var errNotYet = errors.New("what has ended is still looked into")

// HandOver brings the loop to rest and carries out the handover: nothing more is
// begun, and what is in flight is waited for, so that nothing is forgotten. It
// returns only if there was no handover; the loop then goes on as before. The
// error is that of Replace, that of ctx if the rest did not come before its end,
// ErrShutDown or ErrStopped.
func (c *Controller) HandOver(ctx context.Context, h Handover) error {
	reply := make(chan error, 1)
	select {
	case c.handovers <- &leaving{Handover: h, ctx: ctx, reply: reply, late: time.After(recordsWithin)}:
		return <-reply
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ended:
		return ErrStopped
	}
}

// tryLeave hands over as soon as nothing is in flight. While it is not, nothing
// is decided.
func (l *loop) tryLeave() {
	switch lv := l.leaving; {
	case l.world.Shutdown != NotShuttingDown:
		l.stay(ErrShutDown)
	case lv.ctx.Err() != nil:
		l.stay(fmt.Errorf("cannot come to rest: %d actions and %d preStop hooks are still under way", l.inFlight+len(l.queue), l.hooks.flying))
	case l.inFlight+len(l.queue)+l.hooks.flying == 0 && !l.scanning && !l.listening:
		l.probing.cancel() // what they would say is asked again
		if l.probing.flying > 0 || l.outside > 0 && !lv.hasty {
			return
		}
		if err := l.leave(lv); !errors.Is(err, errNotYet) {
			l.stay(err)
		}
	}
}

// leave hands over; it returns only if that failed. What comes to light at the last
// moment is finished first: the last words of what has ended are nobody's else.
func (l *loop) leave(lv *leaving) error {
	defer lv.Resume()
	for _, e := range lv.Pause() {
		l.exited(e)
	}
	if l.outside > 0 && !lv.hasty {
		return errNotYet
	}
	state, err := l.now().History.handOver()
	if err != nil {
		return err
	}
	return lv.Replace(state)
}

// stay says why there was no handover, and goes on.
func (l *loop) stay(err error) {
	l.leaving.reply <- err
	l.leaving = nil
	l.probing.cancel()
	l.probing.ctx, l.probing.cancel = context.WithCancel(context.Background())
}

// newcomers is where handovers are asked for, one at a time.
func (l *loop) newcomers() <-chan *leaving {
	if l.leaving != nil {
		return nil
	}
	return l.handovers
}

// leavingDone ends the wait for rest; nil where there is none.
func (l *loop) leavingDone() <-chan struct{} {
	if l.leaving == nil {
		return nil
	}
	return l.leaving.ctx.Done()
}

// leavingLate ends the wait for the disk; nil where there is none.
func (l *loop) leavingLate() <-chan time.Time {
	if l.leaving == nil {
		return nil
	}
	return l.leaving.late
}

// handedOver is a history with all of it, also the stops in progress: who goes
// on with them must not take their ends for crashes.
type handedOver struct {
	KeyHistory
	Stops     []StopState   `json:"stops,omitempty"`
	Probes    []ProbeState  `json:"probes,omitempty"`
	Death     *spec.Dossier `json:"death,omitempty"`
	Resolved  *Resolved     `json:"resolved,omitempty"`
	Successor Succeeds      `json:"successor,omitzero"`
	// Entries are the manifests that the instances run by, in their order: one that
	// is removed before the next image has read it still says how to part with them.
	Entries []*spec.Entry `json:"entries,omitempty"`
}

func (h History) handOver() ([]byte, error) {
	all := make([]handedOver, len(h.keys))
	for i, k := range h.keys {
		all[i] = handedOver{KeyHistory: *k, Stops: k.Stops, Probes: k.Probes, Death: k.Death, Resolved: k.Resolved, Successor: k.Successor}
		for j := range k.Instances {
			all[i].Entries = append(all[i].Entries, k.Instances[j].Entry)
		}
	}
	b, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("cannot write down the history: %v", err)
	}
	return b, nil
}

// Resume restores the history from the state of a handover.
func Resume(state []byte) (History, error) {
	var all []handedOver
	if err := json.Unmarshal(state, &all); err != nil {
		return History{}, fmt.Errorf("cannot read the history that was handed over: %v", err)
	}
	events := make([]Event, len(all))
	for i, k := range all {
		k.KeyHistory.Stops, k.KeyHistory.Probes, k.KeyHistory.Death = k.Stops, k.Probes, k.Death
		k.KeyHistory.Resolved, k.KeyHistory.Successor = k.Resolved, k.Successor
		for j, e := range k.Entries[:min(len(k.Entries), len(k.Instances))] {
			k.Instances[j].Entry = e
		}
		events[i] = Remembered{k.KeyHistory}
	}
	return History{}.With(events...), nil
}

// inherit notes whose main processes the children are that were taken over: how
// they end is reported from the first moment.
func (l *loop) inherit() {
	if l.HandedOver {
		for _, e := range l.world.History.Records() {
			l.Ledger.Append(newRecord(e, l.Boot))
		}
	}
	inherited := make(map[observe.Ident]bool, len(l.Inherited))
	for _, id := range l.Inherited {
		inherited[id] = true
	}
	for _, k := range l.world.History.keys {
		for _, r := range k.Instances {
			if inherited[r.Main] {
				l.note(Watched{Key: k.Key, ID: r.ID})
				l.watched(k.Key, r)
			}
		}
	}
}
