//go:build linux || darwin || freebsd

package actuate

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Actuator starts, signals and watches processes for one owner. It implements
// the controller's interface of the same name; the methods say there what they
// promise. All may be called from many goroutines.
type Actuator struct {
	opts    Options
	log     logr.Logger
	null    *os.File
	spawner *spawner
	reaper  *reaper
	exits   *exits
	ports   *ports
	logs    *logKeeper
	scopes  *scope.Scopes
	// self is the path of this program, for bridges; empty where it is not known.
	self string
	// desk bounds how many goroutines make system calls for starts and signals at
	// one time, those that clear up after a failed start no less: each could hold
	// a thread. More than the cores can use would only add threads that never go
	// away; and where no more can be had (clone(2), EAGAIN) Go ends the program.
	desk      chan struct{}
	helpers   *runner
	inherited []observe.Ident
	// waits ends what a start waits for when the Actuator is closed. No
	// child's life hangs on it.
	waits  context.Context
	cancel context.CancelFunc
}

// New makes this process ready to be a parent (see prepare) and begins to
// watch. It must come after the program has looked at which signals it found
// ignored, and before it ignores any itself: a signal that is ignored, and not
// caught, is ignored by every child too. A process has one Actuator at a time:
// what is no child of its own, it takes for an orphan and reaps.
func New(o Options) (*Actuator, error) {
	if err := prepareOnce(); err != nil {
		return nil, fmt.Errorf("cannot become a parent of processes: %v", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open the null device: %v", err)
	}
	a := &Actuator{opts: o, log: o.Log, null: null, exits: newExits(), desk: make(chan struct{}, deskPlaces)}
	a.self, _ = os.Executable()
	a.waits, a.cancel = context.WithCancel(context.Background())
	a.spawner = newSpawner()
	if a.reaper, err = newReaper(a.exits, a.spawner, o.Heritage); err == nil {
		a.helpers = &runner{spawner: a.spawner, reaper: a.reaper, null: int(null.Fd())}
		a.scopes, err = scope.New(scope.Options{Mode: o.Scopes, Owner: o.Owner, UID: o.UID, Log: o.Log, Run: a.helpers})
	}
	if err != nil {
		a.closeParts()
		return nil, err
	}
	a.ports = newPorts(o.Owner)
	a.logs = newLogKeeper(o.StateDir, o.Log)
	a.takeOver()
	return a, nil
}

const deskPlaces = 4

// atDesk does f when there is a place for it. f must not wait for anything.
func (a *Actuator) atDesk(f func()) {
	a.desk <- struct{}{}
	defer func() { <-a.desk }()
	f()
}

var prepareOnce = sync.OnceValue(prepare)

// Exits delivers the end of every main process that was started or is watched,
// in the order in which the ends were noticed. An end can be delivered before
// the Start of the same process has returned. The channel is closed by Close.
func (a *Actuator) Exits() <-chan observe.Exit { return a.exits.out }

// Forget releases what is held for an instance of which nothing is left.
func (a *Actuator) Forget(in *observe.Instance) {
	a.reaper.drop(leaderOf(in))
	a.ports.Release(in.ID.Token())
	a.logs.Drop(cmp.Or(in.Log, a.LogPath(in.Key, in.ID)))
	a.scopes.Release(in.Scope)
}

// RunHelper runs a short command that is no workload, in a session of its own
// and with nothing of the controller's own in its environment, and waits for its
// end. It is killed when ctx ends first. Output holds stdout and stderr, up to
// 16 KiB. argv begins with an absolute path.
func (a *Actuator) RunHelper(ctx context.Context, argv, environ []string, dir string) (exitCode int, output string, err error) {
	return a.helpers.Run(ctx, argv, spec.WithoutControllers(environ), dir)
}

// LogPath is where the output of an instance is, whether we started it or not;
// empty where no output is kept.
func (a *Actuator) LogPath(key spec.Key, id spec.Instance) string {
	if a.opts.StateDir == "" {
		return ""
	}
	return LogPath(a.opts.StateDir, key, id)
}

// Close ends the watching and lets go of everything. It signals nothing:
// children get their parent-death signal when this process ends. No other
// method may be called after it; a Start that waits for a scope fails.
func (a *Actuator) Close() {
	a.cancel()
	a.endErrands()
	a.logs.Close()
	a.ports.ReleaseAll()
	a.closeParts()
}

// Abandon lets go of the thread that forks, without which the program cannot end, and
// of nothing else: a guard that was not dismissed finds all that it has to end.
func (a *Actuator) Abandon() {
	a.cancel()
	a.spawner.Close()
}

func (a *Actuator) closeParts() {
	a.spawner.Close()
	if a.reaper != nil {
		a.reaper.Close()
	}
	a.exits.Close()
	a.null.Close()
}
