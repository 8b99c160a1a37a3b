package actuate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// GuardOptions are what a Guard is made of.
type GuardOptions struct {
	// Brief is completed by StartGuard: Controller and the numbers are set.
	Brief Brief
	// Lock and Ledger are descriptors that the guard shares. Ledger is -1 where
	// there is none.
	Lock   []int
	Ledger int
}

// Guard keeps one guard process at our side for as long as we live. It watches
// us by handle, and when we end without having dismissed it, it stops what is
// to end with us: all of each tree, where the parent-death signal reaches only
// our direct children.
//
// The process has a session of its own, no parent-death signal and no marker,
// and, once it stands, hears none of the signals that are meant to end us. If it
// ends before us, another one takes its place.
type Guard struct {
	a       *Actuator
	o       GuardOptions
	bell    int // eventfd
	handle  int // pidfd of ourselves
	leaving context.Context
	leave   context.CancelFunc
	done    sync.WaitGroup

	mu    sync.Mutex
	child child
	ident observe.Ident // of the present one; zero while there is none
}

// Pauses before a guard that has ended is replaced. The first, and one that lasted
// for guardSteady, is replaced at once: until then nothing guards.
const (
	guardPause    = 100 * time.Millisecond
	guardMaxPause = time.Minute
	guardSteady   = time.Second
)

// StartGuard starts a guard, or goes on with the one of the former image of this
// process. It comes before the first Start. If no guard can be had now, that is
// logged, and tried again and again. The error says that there never can.
func (a *Actuator) StartGuard(o GuardOptions) (*Guard, error) {
	g := &Guard{a: a, o: o, bell: -1, handle: -1, child: child{fd: -1}}
	g.leaving, g.leave = context.WithCancel(context.Background())
	if err := g.open(); err != nil {
		g.release()
		return nil, fmt.Errorf("cannot have a guard: %v", err)
	}
	if err := g.resume(); err != nil {
		g.spawn()
	}
	g.done.Go(g.keep)
	return g, nil
}

func (g *Guard) open() (err error) {
	if h := g.a.opts.Heritage; h != nil && h.Bell >= 0 {
		g.bell = h.Bell
		unix.CloseOnExec(g.bell)
	} else if g.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	if g.handle, err = openPidfd(os.Getpid()); err != nil {
		return err
	}
	start, err := startTick(os.Getpid())
	g.o.Brief.Controller = observe.Ident{PID: os.Getpid(), Start: start}
	return err
}

var errNoGuard = errors.New("there is no guard to go on with")

// resume takes the guard of the former image.
func (g *Guard) resume() error {
	h := g.a.opts.Heritage
	if h == nil || h.Guard.IsZero() {
		return errNoGuard
	}
	fd, err := openPidfd(h.Guard.PID)
	if err == nil {
		if start, _ := startTick(h.Guard.PID); start != h.Guard.Start {
			unix.Close(fd)
			err = errOther
		}
	}
	if err != nil {
		g.a.reaper.disown(h.Guard.PID)
		return err
	}
	g.set(child{pid: h.Guard.PID, fd: fd}, h.Guard)
	return nil
}

const stderr = 2

// spawn starts one. Without it the workloads run all the same.
//
// Like bury it does nothing while the actuator is paused: what the next image is
// told of the guard must be so when it begins.
func (g *Guard) spawn() {
	g.a.reaper.collecting.Lock()
	defer g.a.reaper.collecting.Unlock()
	c, err := g.fork()
	if err != nil {
		g.a.log.Error(err, "cannot start a guard; should this controller be killed, parts of its workloads may stay")
		return
	}
	id, _ := identOf(c) // not reaped: it is there
	g.set(c, id)
	g.a.log.V(1).Info("guard started", "pid", c.pid)
}

func (g *Guard) fork() (child, error) {
	r := g.a.reaper.roll
	inherit := []int{g.handle, g.bell, int(r.file.Fd()), int(r.particulars.Fd())}
	b := g.o.Brief
	b.Handle, b.Bell, b.Roll, b.Particulars, b.Ledger = 3, 4, 5, 6, -1
	next := 7
	if g.o.Ledger >= 0 {
		inherit, b.Ledger, next = append(inherit, g.o.Ledger), next, next+1
	}
	for _, fd := range g.o.Lock {
		inherit, b.Lock, next = append(inherit, fd), append(b.Lock, next), next+1
	}
	argv, err := b.argv(os.Args[0])
	if err != nil {
		return child{fd: -1}, err
	}
	return g.a.spawner.Start(&launch{
		// The program that runs now, whatever is on the disk meanwhile.
		path: "/proc/self/exe", argv: argv, env: spec.WithoutControllers(g.a.opts.Environ), dir: "/",
		input: int(g.a.null.Fd()), output: stderr, inherit: inherit, cgroup: -1,
		deaf: heldBack,
	}, g.a.reaper.expect)
}

// keep replaces a guard that has ended, until Dismiss.
func (g *Guard) keep() {
	pause := time.Duration(0)
	for {
		began := time.Now()
		c := g.present()
		if c.fd >= 0 {
			_ = awaitEnd(context.Background(), c.fd)
			code := g.bury(c)
			if g.leaving.Err() != nil {
				return
			}
			g.a.log.Info("the guard has ended; another one takes its place", "pid", c.pid, "exitCode", code)
		}
		if time.Since(began) >= guardSteady {
			pause = 0
		}
		select {
		case <-time.After(pause):
		case <-g.leaving.Done():
			return
		}
		pause = min(max(2*pause, guardPause), guardMaxPause)
		g.spawn()
	}
}

// bury reaps a guard that has ended.
func (g *Guard) bury(c child) (exitCode int) {
	g.a.reaper.collecting.Lock()
	defer g.a.reaper.collecting.Unlock()
	exitCode = g.a.reaper.reap(c)
	g.set(child{fd: -1}, observe.Ident{})
	c.close()
	return exitCode
}

func (g *Guard) set(c child, id observe.Ident) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.child, g.ident = c, id
}

func (g *Guard) present() child {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.child
}

// current is the guard that is there now; zero if there is none.
func (g *Guard) current() observe.Ident {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ident
}

// leaveWithin is how long a guard may take to leave before it is killed.
const leaveWithin = time.Second

// Dismiss sends the guard away and waits until it has gone, so that it holds
// nothing of ours any more. It comes when nothing is left to guard, and once.
func (g *Guard) Dismiss() {
	g.leave()
	_, _ = unix.Write(g.bell, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // a count: any but 0
	late := time.AfterFunc(leaveWithin, g.kill)
	defer late.Stop()
	g.done.Wait()
	g.release()
}

// kill ends a guard that does not leave.
func (g *Guard) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.child.fd >= 0 {
		g.a.log.Info("the guard does not leave; killing it", "pid", g.child.pid)
		_ = deliver(g.child.fd, unix.SIGKILL, 0)
	}
}

func (g *Guard) release() {
	for _, fd := range []int{g.bell, g.handle} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}
