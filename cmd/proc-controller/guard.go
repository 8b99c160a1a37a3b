package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/actuate"
	"github.com/proc-controller/proc-controller/actuate/lock"
	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// isGuard says that these are the arguments of a guard. It is asked before the
// verbs are put together, so that a guard stays small.
func isGuard(args []string) bool { return len(args) > 0 && args[0] == actuate.GuardVerb }

// guard is the life of a guard: it waits for the end of the controller, and then
// carries out one graceful shutdown in its place.
func guard(args []string, std streams) error {
	brief, err := actuate.ParseBrief(args[1:])
	if err != nil {
		return &usageError{err.Error()}
	}
	died, until, err := brief.AwaitEnd()
	if err != nil || !died {
		return err
	}
	out := newPatientWriter(std.err)
	defer out.Close(lastWords)
	log := newLogger(out, brief.LogFormat, brief.Verbose, lookFor(std.err, os.Getenv))
	r := &guardReap{machine: machine{log: log, place: place{owner: brief.Owner, uid: brief.UID}}, brief: brief, until: until}
	defer r.close()
	if err := r.open(); err != nil {
		log.Error(err, "cannot end what the controller has left", "owner", brief.Owner)
		return errSaid
	}
	r.run()
	return nil
}

// guardReap is the shutdown that a guard carries out.
type guardReap struct {
	machine
	brief    actuate.Brief
	until    uint64 // tick at which the end of the controller was noticed
	observer reapObserver
	actuator tallyActuator
}

// open wires up a controller as run does, but for manifests and API. First of
// all it answers for the lock.
func (r *guardReap) open() error {
	l, err := lock.Adopt(r.brief.Lock, r.says)
	if err != nil {
		return err
	}
	r.closing(l.Release)
	r.log.Info("the controller has died; ending what was to end with it", "owner", r.brief.Owner, "pid", r.brief.Controller.PID)
	r.records = r.openRecords(r.brief.State, r.brief.Ledger)
	r.writeDown()
	children, err := r.brief.Children()
	if err != nil {
		r.log.Error(err, "cannot read which children the controller had")
	}
	scanner, err := observe.NewScanner(observe.ScannerOptions{Owner: r.brief.Owner, UID: r.brief.UID})
	if err != nil {
		return err
	}
	r.closing(func() { scanner.Close() })
	r.observer.Observer, r.observer.until = scanner, r.until
	r.observer.children = children
	actuator, err := actuate.New(actuate.Options{
		Owner: r.brief.Owner, UID: r.brief.UID, StateDir: r.brief.State, Home: os.Getenv("HOME"),
		Environ: os.Environ(), Scopes: scope.Mode(r.brief.Scopes), Log: r.log,
	})
	if err != nil {
		return err
	}
	r.closing(actuator.Close)
	r.actuator.Actuator = actuator
	return nil
}

// writeDown puts all that the mirror knows into the ledger on the disk, which may not
// have taken the last of it before the controller died, or was deleted.
func (r *guardReap) writeDown() {
	t, ok := r.records.ledger.(both)
	if !ok {
		return
	}
	for _, line := range controller.Compact(observe.BootID(), slices.Collect(r.records.mirror.Lines)) {
		t.disk.Append(json.RawMessage(line))
	}
}

// says is the answer to whoever wants the lock.
func (r *guardReap) says() string {
	return fmt.Sprintf("reaping %d processes of the controller (pid %d), which died", r.observer.left.Load(), r.brief.Controller.PID)
}

// It is over when quietRuns in a row, quietPause apart, have found
// nothing to signal: a process can be between its fork and its markers when one
// looks. maxRuns is the end in any case.
const (
	quietRuns  = 2
	quietPause = 50 * time.Millisecond
	maxRuns    = 20
)

// run shuts down until there is nothing to shut down any more.
func (r *guardReap) run() {
	quiet := 0
	for n := range maxRuns {
		log := r.log
		if n > 0 {
			log = log.V(1) // it repeats what was said
		}
		before := r.actuator.signals.Load()
		r.shutDown(log)
		quiet++
		if r.actuator.signals.Load() > before {
			quiet = 0
		}
		if quiet == quietRuns {
			break
		}
		<-time.After(quietPause)
	}
	r.log.Info("done; the guard ends", "owner", r.brief.Owner, "signalsSent", r.actuator.signals.Load())
}

// shutDown runs a controller that was told to end before it began.
func (r *guardReap) shutDown(log logr.Logger) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = controller.New(controller.Options{
		Owner: r.brief.Owner, Source: nothingWanted(), Observer: &r.observer, Actuator: &r.actuator,
		Events: r.records.events, Ledger: r.records.ledger, History: r.records.history(),
		Boot: observe.BootID(), PID: os.Getpid(), Log: log,
	}).Run(ctx) // it has no error
}

// noManifests is a source that holds nothing, and from which nothing follows: no
// manifest was read, so none is known to be gone.
type noManifests chan *spec.Set

func nothingWanted() noManifests {
	c := make(noManifests, 1)
	c <- &spec.Set{Complete: true, Doubts: []spec.Doubt{{All: true, Message: "not read"}}}
	return c
}

// Sets gives the empty set, once.
func (c noManifests) Sets() <-chan *spec.Set { return c }

// reapObserver adds to what the ledger knows that the children of the controller
// kept their pids until it died, and those that it does not know yet. It counts
// what is to go.
type reapObserver struct {
	controller.Observer
	until    uint64
	children []observe.Witness
	left     atomic.Int64
}

// Scan is the scan of the observer, with better witnesses.
func (o *reapObserver) Scan(ctx context.Context, known []observe.Witness, depth observe.Depth) observe.Snapshot {
	s := o.Observer.Scan(ctx, o.better(known), depth)
	left := 0
	for _, in := range s.Instances {
		if in.OnExit != spec.ExitKeep {
			left += len(in.Members)
			if in.Live() {
				left++
			}
		}
	}
	o.left.Store(int64(left))
	return s
}

// better are the witnesses of the ledger and those of the roll. Where both speak of
// one instance, the ledger has more to say.
func (o *reapObserver) better(known []observe.Witness) []observe.Witness {
	held := make(map[observe.Ident]bool, len(o.children))
	for _, w := range o.children {
		held[w.Main] = true
	}
	all, noted := slices.Clone(known), make(map[spec.Instance]bool, len(known))
	for i := range all {
		noted[all[i].ID] = true
		if held[all[i].Main] {
			all[i].HeldUntil = o.until
		}
	}
	for _, w := range o.children {
		if w.ID != "" && !noted[w.ID] {
			w.HeldUntil = o.until
			all = append(all, w)
		}
	}
	return all
}

// tallyActuator counts the signals that were asked for.
type tallyActuator struct {
	*actuate.Actuator
	signals atomic.Int64
}

// Signal is that of the actuator.
func (a *tallyActuator) Signal(in *observe.Instance, sig int, mode spec.KillMode) ([]observe.Sent, error) {
	a.signals.Add(1)
	return a.Actuator.Signal(in, sig, mode)
}
