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
	// inherit are descriptors that the child has too, as 3, 4 and so on.
	inherit []int
	// deaf are signals that are blocked in the child from its first moment.
	deaf []syscall.Signal
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
	// depends on the name of the instance. It is called again if it took too
	// long. Its error ends the start.
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

// request is a launch on its way to the thread, or something else that only
// that thread can do; the answer comes back once.
type request struct {
	launch   *launch
	register func(child)
	instead  func() error
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
	s.done.Add(1)
	onForkingThread(s.run)
	return s
}

// run is the thread. It returns only after Close, and gives the thread back
// then instead of ending it: what becomes of the children is decided by the end
// of the process, not by the order in which it is taken down.
func (s *spawner) run() {
	defer s.done.Done()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer emptySignalMask()()
	for {
		select {
		case r := <-s.requests:
			c, err := s.serve(r)
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
	return s.ask(request{launch: l, register: register})
}

// Do has f called on the thread, between two forks.
func (s *spawner) Do(f func() error) error {
	_, err := s.ask(request{instead: f})
	return err
}

func (s *spawner) ask(r request) (child, error) {
	reply := make(chan answer, 1)
	r.answer = reply
	select {
	case s.requests <- r:
		a := <-reply
		return a.child, a.err
	case <-s.closed:
		return child{fd: -1}, ErrClosed
	}
}

func (s *spawner) serve(r request) (child, error) {
	s.forking.Lock()
	defer s.forking.Unlock()
	if r.instead != nil {
		return child{fd: -1}, r.instead()
	}
	return s.fork(r)
}

func (s *spawner) fork(r request) (child, error) {
	l, c := r.launch, child{fd: -1}
	if err := l.complete(observe.BootTick); err != nil {
		return c, err
	}
	defer blockSignals(l.deaf)()
	files := []uintptr{uintptr(l.input), uintptr(l.output), uintptr(l.output)}
	for _, fd := range l.inherit {
		files = append(files, uintptr(fd))
	}
	pid, err := syscall.ForkExec(l.path, l.argv, &syscall.ProcAttr{
		Dir: l.dir, Env: l.env, Files: files, Sys: childAttributes(l, &c),
	})
	if err != nil {
		return child{fd: -1}, err
	}
	c.pid = pid
	r.register(c)
	return c, nil
}

// maxStamps bounds how often a launch is stamped again. A thread that loses the
// processor each time is on a machine where no name would come in time.
const maxStamps = 5

// complete stamps the launch, again as long as the clock has moved on meanwhile:
// the thread may lose the processor at any point, and the main process of an
// instance is recognised by a start within two ticks of its name. What is left
// to happen before the fork takes some microseconds.
func (l *launch) complete(clock func() uint64) error {
	if l.stamp == nil {
		return nil
	}
	for range maxStamps {
		tick := clock()
		if err := l.stamp(l, tick); err != nil {
			return err
		}
		if clock() == tick {
			break
		}
	}
	return nil
}

// Close ends the thread and waits for it. Children stay as they are.
func (s *spawner) Close() {
	s.once.Do(func() { close(s.closed) })
	s.done.Wait()
}
