//go:build darwin || freebsd

package actuate

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

// handle is a process under watch. There is no pidfd here: what keeps the pid
// of a child from meaning another process is that only the reaper reaps it, and
// under the lock under which it is signalled.
type handle struct {
	ident observe.Ident
	fd    int // unused
	child bool
	ended bool
	oom   func() bool // unused: there are no cgroups
}

// reaper watches processes with kqueue(2), EVFILT_PROC: one goroutine, whose
// thread waits, serves all.
type reaper struct {
	kq    int
	exits *exits
	done  sync.WaitGroup

	mu      sync.Mutex
	byPID   map[int]*handle
	byIdent map[observe.Ident]*handle
}

// wakeEvent is the EVFILT_USER event that ends run.
const wakeEvent = 1

func newReaper(x *exits, _ *spawner, _ *Heritage) (*reaper, error) {
	kq, err := unix.Kqueue()
	if err != nil {
		return nil, fmt.Errorf("cannot watch processes: %v", os.NewSyscallError("kqueue", err))
	}
	unix.CloseOnExec(kq)
	r := &reaper{kq: kq, exits: x, byPID: map[int]*handle{}, byIdent: map[observe.Ident]*handle{}}
	if err := r.change(wakeEvent, unix.EVFILT_USER, unix.EV_ADD|unix.EV_CLEAR, 0); err != nil {
		unix.Close(kq)
		return nil, err
	}
	r.done.Go(r.run)
	return r, nil
}

func (r *reaper) change(id, filter, flags int, fflags uint32) error {
	var ev unix.Kevent_t
	unix.SetKevent(&ev, id, filter, flags)
	ev.Fflags = fflags
	_, err := unix.Kevent(r.kq, []unix.Kevent_t{ev}, nil, nil)
	return os.NewSyscallError("kevent", err)
}

func (r *reaper) run() {
	events := make([]unix.Kevent_t, 128)
	for {
		n, err := unix.Kevent(r.kq, nil, events, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		for _, ev := range events[:n] {
			if ev.Filter == unix.EVFILT_USER {
				return
			}
			r.ended(int(ev.Ident))
		}
	}
}

// expect does nothing: there are no orphans to tell a child from.
func (r *reaper) expect(child) {}

// enter does nothing: nobody would read the roll.
func (r *reaper) enter(observe.Witness) {}

// add begins to watch. A child that has ended already is reported at once.
func (r *reaper) add(h *handle) error {
	r.mu.Lock()
	r.byPID[h.ident.PID] = h
	r.byIdent[h.ident] = h
	r.mu.Unlock()
	err := r.change(h.ident.PID, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT, unix.NOTE_EXIT)
	if err != nil && h.child {
		r.ended(h.ident.PID) // ESRCH: a zombie cannot be watched
		return nil
	}
	if err != nil {
		r.drop(h.ident)
		return ErrGone
	}
	return nil
}

func (r *reaper) ended(pid int) {
	r.mu.Lock()
	h := r.byPID[pid]
	if h == nil || h.ended {
		r.mu.Unlock()
		return
	}
	h.ended = true
	delete(r.byPID, pid)
	exit := observe.Exit{Ident: h.ident, Code: -1, At: time.Now(), Message: "it was started by an earlier controller"}
	if h.child {
		exit.Code, exit.Signal, exit.Known = wait(pid)
		exit.Message = ""
	}
	r.mu.Unlock()
	r.exits.Push(exit)
}

// wait reaps a child that is about to end or has ended.
func wait(pid int) (code, signal int, known bool) {
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(pid, &ws, 0, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return -1, 0, false
		case ws.Signaled():
			return -1, int(ws.Signal()), true
		}
		return ws.ExitStatus(), 0, true
	}
}

func (r *reaper) drop(id observe.Ident) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.byIdent[id]; h != nil {
		delete(r.byIdent, id)
		if r.byPID[id.PID] == h {
			delete(r.byPID, id.PID)
		}
	}
}

// reap takes the status of a child that was killed and is not watched.
func (r *reaper) reap(c child) (exitCode int) {
	code, _, _ := wait(c.pid)
	return code
}

// Close ends the watching.
func (r *reaper) Close() {
	_ = r.change(wakeEvent, unix.EVFILT_USER, 0, unix.NOTE_TRIGGER)
	r.done.Wait()
	unix.Close(r.kq)
}

// killChild kills the group of a child that is not reaped yet.
func killChild(c child) error { return unix.Kill(-c.pid, unix.SIGKILL) }

func (child) close() {}
