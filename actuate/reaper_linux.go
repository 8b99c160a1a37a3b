package actuate

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

// handle is a process that is held by its pidfd, from the spawn (or from a
// verified Watch) until Forget: longer than it lives, because the descriptor
// goes on naming the process group that it led. A pid can come to mean another
// process, a pidfd cannot.
type handle struct {
	ident observe.Ident
	fd    int
	// child says that it was forked by us, so that its status comes from wait.
	child bool
	// ended is set, under the reaper's lock, when its end was reported.
	ended bool
	// oom tells, at its end, whether its cgroup saw an out-of-memory kill.
	// Nil where there is no cgroup.
	oom func() bool
}

// reaper watches pidfds with an epoll instance of its own, which is nested
// into the runtime's: a pidfd is readable once every thread of its process has
// ended (pidfd_open(2), Linux 5.3). So no thread and no goroutine waits per
// process; one goroutine, parked like on any socket, serves all.
type reaper struct {
	epoll *os.File
	conn  syscall.RawConn
	epfd  int
	exits *exits
	// orphans is poked when a status was taken, which may have hidden that of
	// an orphan.
	orphans   *orphanReaper
	orphanage *orphanage
	errands   *errands
	// roll outlives us: who is a child of ours and not reaped yet.
	roll *roll
	done sync.WaitGroup
	// collecting is held while ends are taken, and while one guard follows another;
	// Pause keeps it.
	collecting sync.Mutex
	// releasing is held by whoever takes the status of a child, which removes it
	// from the kernel's lists.
	releasing sync.Mutex

	mu      sync.Mutex
	byFD    map[int]*handle
	byIdent map[observe.Ident]*handle
	// own are the children that were forked and not reaped yet. A nil value is
	// one whose start is still under way.
	own    map[int]*handle
	closed bool
}

// newReaper begins to reap: what is added to it, and the orphans that the
// children of this spawner leave behind. What it inherits from before an
// execve(2) it never takes for orphans.
func newReaper(x *exits, sp *spawner, h *Heritage) (*reaper, error) {
	roll, own, err := rollFrom(h)
	if err != nil {
		return nil, fmt.Errorf("cannot keep a list of the children: %v", err)
	}
	r, err := openReaper(x)
	if err != nil {
		roll.Close()
		return nil, err
	}
	r.roll, r.own = roll, own
	r.orphans, r.orphanage, r.errands = newOrphanReaper(sp, r), openOrphanage(), newErrands()
	r.done.Go(r.run)
	r.done.Go(r.orphans.run)
	return r, nil
}

func openReaper(x *exits) (*reaper, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot watch processes: %v", os.NewSyscallError("epoll_create1", err))
	}
	// Non-blocking is what makes os.NewFile hand it to the runtime's poller.
	if err := unix.SetNonblock(epfd, true); err != nil {
		unix.Close(epfd)
		return nil, fmt.Errorf("cannot watch processes: %v", err)
	}
	r := &reaper{
		epoll: os.NewFile(uintptr(epfd), "epoll"), epfd: epfd, exits: x,
		byFD: map[int]*handle{}, byIdent: map[observe.Ident]*handle{},
	}
	if r.conn, err = r.epoll.SyscallConn(); err != nil {
		r.epoll.Close()
		return nil, fmt.Errorf("cannot watch processes: %v", err)
	}
	return r, nil
}

// run collects what has ended, until Close.
func (r *reaper) run() {
	events := make([]unix.EpollEvent, 128)
	// The poller is edge-triggered: the inner instance must have been seen
	// empty before this waits for the next edge.
	_ = r.conn.Read(func(uintptr) bool {
		for {
			n, err := unix.EpollWait(r.epfd, events, 0)
			if err == unix.EINTR {
				continue
			}
			if err != nil || n == 0 {
				return false
			}
			r.collecting.Lock()
			r.take(events[:n])
			r.collecting.Unlock()
			r.orphans.Poke()
		}
	})
}

// expect notes a child that was just forked. It is called while the spawner
// holds its fork lock.
func (r *reaper) expect(c child) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own[c.pid] = nil
}

// isOwn tells whether a process that has ended is one that we forked.
func (r *reaper) isOwn(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.own[pid]
	return ok
}

// disown drops a child that its starter has reaped itself.
func (r *reaper) disown(pid int) {
	r.mu.Lock()
	delete(r.own, pid)
	r.mu.Unlock()
	r.orphans.Poke()
}

// add begins to watch. From then on the end of the process is reported.
func (r *reaper) add(h *handle) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	if _, twice := r.byIdent[h.ident]; twice {
		return fmt.Errorf("cannot watch %v: it is watched already", h.ident)
	}
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(h.fd)}
	if err := unix.EpollCtl(r.epfd, unix.EPOLL_CTL_ADD, h.fd, &ev); err != nil {
		return fmt.Errorf("cannot watch %v: %v", h.ident, os.NewSyscallError("epoll_ctl", err))
	}
	r.byFD[h.fd] = h
	r.byIdent[h.ident] = h
	if h.child {
		r.own[h.ident.PID] = h
	}
	return nil
}

// take takes the status of each process that has ended, and reports it.
func (r *reaper) take(events []unix.EpollEvent) {
	ends := make([]end, 0, len(events))
	r.releasing.Lock()
	for _, ev := range events {
		if e, ok := r.ended(int(ev.Fd)); ok {
			ends = append(ends, e)
		}
	}
	r.tellAlone(ends)
	r.releasing.Unlock()
	for _, e := range ends {
		r.exits.Push(e.exit)
	}
}

// ended takes the status of one process, unless that was done already.
func (r *reaper) ended(fd int) (end, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.byFD[fd]
	if h == nil || h.ended {
		return end{}, false
	}
	h.ended = true
	_ = unix.EpollCtl(r.epfd, unix.EPOLL_CTL_DEL, fd, nil)
	r.leave(h)
	exit, busy := collect(h), r.errands.EndOf(h.ident)
	if h.child && r.own[h.ident.PID] == h {
		delete(r.own, h.ident.PID)
	}
	return end{h, exit, busy}, true
}

// collect reaps a child, or finds out how another process has ended. A process
// that was started by a former controller can have become our child all the
// same, so waiting is tried first.
func collect(h *handle) observe.Exit {
	exit := observe.Exit{Ident: h.ident, Code: -1, At: time.Now()}
	if info, err := waitid(unix.P_PIDFD, h.fd, 0); err == nil && info.pid != 0 {
		exit.Known = true
		exit.Code, exit.Signal = info.exitStatus()
	} else {
		// The pidfd is readable, so the error (that it lives) cannot be.
		exit, _ = observe.ExitStatus(h.fd, h.ident)
	}
	if exit.Signal == int(unix.SIGKILL) && h.oom != nil {
		exit.OOM = h.oom()
	}
	return exit
}

// lookup gives the handle that is held for a process, or nil.
func (r *reaper) lookup(id observe.Ident) *handle {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byIdent[id]
}

// enter puts a child on the roll, leave takes it off. Only what is not reaped
// stands on it, so leave comes first.
func (r *reaper) enter(w observe.Witness) { r.roll.Enter(w) }

func (r *reaper) leave(h *handle) {
	if h.child {
		r.roll.Leave(h.ident)
	}
}

// drop lets go of a process. It is not reported any more; a child of ours that
// still lives will be reaped as an orphan.
func (r *reaper) drop(id observe.Ident) {
	r.mu.Lock()
	h := r.byIdent[id]
	if h != nil {
		r.dropLocked(h)
	}
	r.mu.Unlock()
	r.orphans.Poke()
}

func (r *reaper) dropLocked(h *handle) {
	r.leave(h)
	delete(r.byIdent, h.ident)
	delete(r.byFD, h.fd)
	if h.child && r.own[h.ident.PID] == h {
		delete(r.own, h.ident.PID)
	}
	unix.Close(h.fd) // which also takes it out of the epoll instance
}

// Close ends the reaping and lets go of every process.
func (r *reaper) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.orphans.Close()
	r.epoll.Close()
	r.done.Wait()
	r.orphanage.close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.byIdent {
		r.dropLocked(h)
	}
	r.roll.Close()
}
