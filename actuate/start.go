//go:build linux || darwin || freebsd

package actuate

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// start is one start on its way: what is known of it so far, and so what has
// to be undone if it goes no further.
type start struct {
	*Actuator
	entry *spec.Entry
	token string
	// prefer are the ports to take where they are free.
	prefer spec.PortMap

	command // what is to run
	ports   spec.PortMap
	output  *os.File // nil where there is no output file
	logPath string
	fence   *scope.Fence

	child child
	began time.Time
	ident observe.Ident // of the child; zero until it is known
	// unread is why the start tick of the child could not be read.
	unread error
	scope  observe.Scope // where the child is, as far as that has been looked at
}

// Start spawns one instance of the entry. It returns once the program has been
// executed, and is in its scope where it gets one. Nothing of a failed start is
// left, and it is never tried a second time once the program may have run. The
// error is a *StartError. Allocated ports are those in prefer, as far as they are
// free.
func (a *Actuator) Start(e *spec.Entry, token string, prefer spec.PortMap) (*observe.Instance, error) {
	s := &start{Actuator: a, entry: e, token: token, prefer: prefer, child: child{fd: -1}}
	defer a.atDesk(s.close)
	if err := s.prepare(); err != nil {
		s.undo()
		return nil, err
	}
	if err := s.spawn(); err != nil {
		s.undo()
		return nil, err
	}
	if failed := s.settle(); failed != nil {
		failed.Sent = s.kill()
		s.undo()
		return nil, failed
	}
	return s.instance(), nil
}

// Resolve checks what can be checked of a start without starting: the working
// directory, the program and its interpreter. The error is a *StartError.
func (a *Actuator) Resolve(e *spec.Entry) (err error) {
	a.atDesk(func() {
		var cmd command
		if cmd, err = a.commandOf(e, "", nil); err == nil {
			err = checkInterpreter(cmd.wanted, cmd.dir)
		}
	})
	return err
}

// prepare does everything that can be done before the fork and outside of the
// thread that forks.
func (s *start) prepare() (err error) {
	if s.atDesk(func() { err = s.prepareFiles() }); err != nil {
		return err
	}
	return s.prepareFence()
}

func (s *start) prepareFiles() (err error) {
	s.ports, err = s.Actuator.ports.Reserve(s.token, s.entry.Key, s.entry.Object.Spec.Ports, s.prefer)
	if err != nil {
		return startErrorf(spec.ReasonNoFreePort, "%v", err)
	}
	id := spec.NewInstance(s.token, observe.BootTick()) // until the fork gives the final one
	if s.command, err = s.commandOf(s.entry, id, s.ports); err != nil {
		return err
	}
	if s.bridged {
		s.prepareEras(s.entry)
	}
	s.openOutput()
	return nil
}

// openOutput makes the output file. Without one the workload runs all the same:
// a full disk must not keep servers down.
func (s *start) openOutput() {
	if s.opts.StateDir == "" {
		return
	}
	s.logPath = s.LogPath(s.entry.Key, s.markers.Instance)
	var err error
	if s.output, err = openLog(s.logPath); err != nil {
		s.log.Error(err, "cannot keep the output of a workload", "key", s.entry.Key.String(), "reason", spec.ReasonLogFile)
		s.logPath = ""
		return
	}
	if s.account != nil {
		// The descriptor is all that most need; but a program that opens
		// /dev/stdout opens the file anew, by its own rights.
		_ = s.output.Chown(int(s.account.UID), int(s.account.GID))
	}
}

// prepareFence asks for a scope. The probe gets the environment of the child
// without the markers, or a scan would take it for a workload.
//
// What a wrapper fails to execute looks like a program that has failed, or is
// given to a shell (execvp(3)), and what a bridge fails to execute like a server
// that has failed, so here the interpreter is looked at before.
func (s *start) prepareFence() (err error) {
	sp := &s.entry.Object.Spec
	if s.bridged || s.opts.Scopes != scope.Off && sp.Scope != spec.ScopeOff {
		if s.atDesk(func() { err = checkInterpreter(s.wanted, s.dir) }); err != nil {
			return err
		}
	}
	s.fence, err = s.scopes.Prepare(s.waits, scope.Request{
		Key: s.entry.Key, Env: withoutMarkers(s.env, s.markers), Dir: s.dir, Policy: sp.Scope, Limits: sp.Resources.Limits,
		OtherUser: s.otherUID() != 0,
	})
	if err != nil {
		return startErrorf(spec.ReasonScopeFailed, "cannot start in a scope: %v", err)
	}
	return nil
}

// spawn forks and executes.
func (s *start) spawn() error {
	for try := 0; ; try++ {
		l := s.launch()
		var err error
		s.began = time.Now()
		if s.child, err = s.spawner.Start(l, s.enrol); err == nil {
			return nil
		}
		if !errors.Is(err, unix.ETXTBSY) || try == len(busyWaits) {
			return s.explain(l, err)
		}
		// The caller waits, not the thread: no other start is delayed. The
		// fence is made anew, since it bears the name of this attempt.
		<-time.After(busyWaits[try])
		s.atDesk(s.fence.Close)
		if err := s.prepareFence(); err != nil {
			return err
		}
	}
}

// busyWaits are the pauses between attempts while somebody still has the
// program open for writing (ETXTBSY): an install or a build that is about to
// end, or a fork elsewhere that has not yet closed its copy. 100 ms in all.
var busyWaits = []time.Duration{
	1 * time.Millisecond, 2 * time.Millisecond, 4 * time.Millisecond, 8 * time.Millisecond,
	15 * time.Millisecond, 15 * time.Millisecond, 15 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond,
}

func (s *start) launch() *launch {
	l := &launch{
		path: s.program, argv: s.argv, env: s.env, dir: s.dir,
		input: int(s.null.Fd()), output: int(s.null.Fd()), cgroup: -1, stamp: s.stamp,
		credential: s.credential(),
	}
	if s.output != nil {
		l.output = int(s.output.Fd())
	}
	if s.bridged {
		l.path = selfPath(s.self)
	}
	if sp := &s.entry.Object.Spec; sp.OnControllerExit != spec.ExitKeep {
		l.death = stopSignal(sp)
	}
	return l
}

// stamp gives the instance its name, on the forking thread: the tick in it must
// be that of the fork, whatever time the start has spent in a queue or with a
// probe, for by that tick the main process of an instance is recognised.
func (s *start) stamp(l *launch, tick uint64) error {
	s.rename(spec.NewInstance(s.token, tick))
	if err := s.fence.Name(s.markers.Instance); err != nil {
		return err
	}
	// A wrapper executes what it is given by path; only without one does the
	// program see the name that the manifest has for it.
	plain := append([]string{s.program}, s.argv[1:]...)
	if wrapped := s.fence.Wrap(plain); len(wrapped) > len(plain) {
		l.path, l.argv = wrapped[0], wrapped
	}
	if fd, ok := s.fence.CgroupFD(); ok {
		l.cgroup = fd
	}
	return nil
}

// explain turns an error of the spawner into a start error.
func (s *start) explain(l *launch, err error) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, scope.ErrRequired):
		return startErrorf(spec.ReasonScopeFailed, "cannot start in a scope: %v", err)
	case errors.As(err, &errno) && s.bridged && checkDir(s.dir) == nil:
		return s.explainBridge(errno)
	case errors.As(err, &errno) && s.account != nil && (errors.Is(errno, unix.EACCES) || errors.Is(errno, unix.EPERM)):
		return startErrorf(spec.ReasonNotExecutable,
			"cannot run %s as user %s: %v (may that user run it, and enter %s and each directory above them?)", l.path, s.account, errno, l.dir)
	case errors.As(err, &errno):
		return explainExec(l, errno)
	}
	return startErrorf(spec.ReasonSpawnFailed, "cannot run %s: %v", s.program, err)
}

// undo releases what a failed start had taken.
func (s *start) undo() {
	s.atDesk(func() {
		s.Actuator.ports.Release(s.token)
		s.child.close()
		if s.logPath != "" {
			removeEmpty(s.logPath)
		}
	})
}

// close releases what no start needs after its end.
func (s *start) close() {
	if s.output != nil {
		s.output.Close()
	}
	if s.fence != nil {
		s.fence.Close()
	}
}

// removeEmpty removes an output file in which there is nothing.
func removeEmpty(path string) {
	if fi, err := os.Stat(path); err == nil && fi.Size() == 0 {
		_ = os.Remove(path)
	}
}
