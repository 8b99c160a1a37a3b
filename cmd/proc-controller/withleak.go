package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// How long what is left may take to end by itself before it counts, and then
// between SIGTERM and SIGKILL.
const (
	leftSettle = 500 * time.Millisecond
	leftPause  = 10 * time.Millisecond
	leftGrace  = 2 * time.Second
)

// clear names and ends what is left when the set has been stopped and the command
// has ended, and says how many that were. All of it is below us, but for what
// somebody else has taken in; that is known by its markers.
func (k *keeper) clear() (leaked int) {
	if err := k.awaitGuard(); err != nil {
		k.std.say(err)
	}
	until := time.After(leftSettle)
	for waiting := true; waiting && len(k.foster.Left()) > 0; {
		select {
		case <-time.After(leftPause):
		case <-until:
			waiting = false
		}
	}
	left := k.foster.Left()
	for _, l := range left {
		from := "the command"
		if l.Owner == k.brief.Owner && l.Key != (spec.Key{}) {
			from = shortName(l.Key)
		}
		k.tellLeft(l.PID, l.Command, from)
	}
	if len(left) > 0 {
		for _, l := range k.foster.End(leftGrace) {
			k.std.say(fmt.Errorf("cannot end pid %d (%s): it is still running", l.PID, l.Command))
		}
	}
	return len(left) + k.clearStrays()
}

func (k *keeper) tellLeft(pid int, command, from string) {
	k.std.say(fmt.Errorf("%s has left a process: pid %d (%s)", from, pid, command))
}

// awaitGuard waits until nobody has the lock of the owner: where the controller
// was killed, its guard has it until its work is done.
func (k *keeper) awaitGuard() error {
	m := &machine{log: newLogger(k.std.err, "text", false, lookFor(k.std.err, os.Getenv)), place: k.place}
	defer m.close()
	return m.takeLock("")
}

// clearStrays ends what is not below us and has the markers of the set.
func (k *keeper) clearStrays() int {
	ctx := context.Background()
	scanner, err := observe.NewScanner(observe.ScannerOptions{Owner: k.brief.Owner, UID: k.place.uid})
	if err != nil {
		return 0 // nothing can be known of any process on such a system
	}
	h, _ := k.place.history()
	found := scanner.Scan(ctx, h.Witnesses(), observe.Full)
	scanner.Close()
	lives := func(in *observe.Instance) bool { return in.Live() || len(in.Members) > 0 }
	if !slices.ContainsFunc(found.Instances, lives) {
		return 0
	}
	r := newReaping(k.std, k.place, &reapFlags{keep: true, grace: leftGrace, graceGiven: true})
	if err := r.run(ctx); err != nil && !errors.Is(err, errSaid) {
		k.std.say(err)
	}
	for _, row := range r.rows {
		k.std.say(fmt.Errorf("%s has left a process: pid %d; it is %s", row.Key, row.PID, row.Result))
	}
	return len(r.rows)
}
