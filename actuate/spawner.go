//go:build linux || darwin || freebsd

package actuate

import (
	"runtime"
	"sync"
	"syscall"

	"github.com/proc-controller/proc-controller/observe"
)

// launch is one fork and exec, prepared to the point where nothing is left to
// do for the thread that forks.
type launch struct {
	path      string // absolute
	argv, env []string
	dir       string
	input     int // descriptor that becomes stdin
	output    int // descriptor that becomes stdout and stderr
	// credential is the user and the groups that the child becomes; nil for ours.
	credential *syscall.Credential
	// death is sent to the child when the controller dies; 0 for none. It has
	// no effect where the system knows no such signal.
	death syscall.Signal
	// cgroup is the descriptor of a cgroup directory that the child is cloned
	// into, or -1.
	cgroup int
	// stamp, unless nil, is called on the forking thread right before the
	// fork, with the tick of the boot clock, and completes the launch: what
	// depends on the name of the instance. Its error ends the start.
	stamp func(l *launch, tick uint64) error
}

// spawner is the one thread that forks. Every process that the controller
// starts, workload or helper, is started here: prctl(2) PR_SET_PDEATHSIG is
// delivered when the forking *thread* ends, and a thread of Go's may end when
// any goroutine that had locked it returns.
type spawner struct {
	requests chan request
	closed   chan struct{}
	done     sync.WaitGroup
	once     sync.Once
	// forking is held across a fork and the registration of its child, so that
	// nobody takes a child that is not registered yet for an orphan.
	forking sync.Mutex
}

// request is a launch on its way to the thread; the answer comes back once.
type request struct {
	launch   *launch
	register func(child)
	answer   chan<- answer
}

type answer struct {
	child child
	err   error
}

// child is a process that was just forked and has executed its program.
type child struct {
	pid int
	fd  int // pidfd, or -1 where the system has none
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan request), closed: make(chan struct{})}
	s.done.Go(s.run)
	return s
}

// run is the thread. It returns only after Close, and gives the thread back
// then instead of ending it: what becomes of the children is decided by the end
// of the process, not by the order in which it is taken down.
//
// It is not the first thread of the program: orphans are handed to that one, and
// what stands in its list of children must be orphans alone.
func (s *spawner) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if onFirstThread() {
		s.done.Go(s.run) // elsewhere, since this one stays taken
		<-s.closed
		return
	}
	restore := emptySignalMask()
	defer restore()
	for {
		select {
		case r := <-s.requests:
			c, err := s.fork(r)
			r.answer <- answer{c, err}
		case <-s.closed:
			return
		}
	}
}

// Start forks and executes, and returns once the program has been executed.
// register is called with the child before anybody could reap it. The error is
// that of execve(2) or of the fork.
func (s *spawner) Start(l *launch, register func(child)) (child, error) {
	reply := make(chan answer, 1)
	select {
	case s.requests <- request{l, register, reply}:
		a := <-reply
		return a.child, a.err
	case <-s.closed:
		return child{fd: -1}, ErrClosed
	}
}

func (s *spawner) fork(r request) (child, error) {
	l, c := r.launch, child{fd: -1}
	s.forking.Lock()
	defer s.forking.Unlock()
	if l.stamp != nil {
		if err := l.stamp(l, observe.BootTick()); err != nil {
			return c, err
		}
	}
	pid, err := syscall.ForkExec(l.path, l.argv, &syscall.ProcAttr{
		Dir:   l.dir,
		Env:   l.env,
		Files: []uintptr{uintptr(l.input), uintptr(l.output), uintptr(l.output)},
		Sys:   childAttributes(l, &c),
	})
	if err != nil {
		return child{fd: -1}, err
	}
	c.pid = pid
	r.register(c)
	return c, nil
}

// Close ends the thread and waits for it. Children stay as they are.
func (s *spawner) Close() {
	s.once.Do(func() { close(s.closed) })
	s.done.Wait()
}
