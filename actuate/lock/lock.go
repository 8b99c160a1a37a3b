package lock

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/spec"
)

// Options say what is locked.
type Options struct {
	Owner spec.Owner
	UID   int
	// Manifests is the manifest directory. It is locked where the socket is
	// not to be had. It may be missing.
	Manifests string
	// State is the state directory. It is locked too, where it can be: abstract
	// sockets are one set for each network namespace, and a controller in
	// another one, over the same processes and files, is not seen otherwise.
	State string
	Log   logr.Logger
}

// Lock is held until Release or the end of the process.
type Lock struct {
	held []hold
}

// hold is one of the things that make up a lock.
type hold interface {
	io.Closer
	// descriptor is what keeps it held: in every process that has a copy.
	descriptor() (int, error)
}

const thisDirectory = "this directory"

// errNoSocket says that this system has no abstract sockets, errSquatted that
// another user's process has the address.
var (
	errNoSocket = errors.New("no abstract sockets here")
	errSquatted = errors.New("the lock's address is taken by a process of another user")
)

// Acquire takes the lock of an owner, or says in a *HeldError who has it. It
// does not wait for a holder to end. Any other error means that no lock could
// be had at all.
func Acquire(o Options) (*Lock, error) {
	l := &Lock{}
	if err := l.acquire(o); err != nil {
		l.Release()
		return nil, err
	}
	return l, nil
}

func (l *Lock) acquire(o Options) error {
	socket, err := listen(o)
	switch {
	case err == nil:
		l.held = append(l.held, socket)
	case errors.Is(err, errSquatted):
		o.Log.Info("falling back to a file lock", "reason", err.Error(), "directory", o.Manifests)
	case !errors.Is(err, errNoSocket):
		return err
	}
	if err := l.lockDirectory(o, o.State, o.State); err != nil {
		return err
	}
	if socket != nil {
		return nil
	}
	if err := l.lockDirectory(o, o.Manifests, thisDirectory); err != nil {
		return err
	}
	if len(l.held) == 0 {
		return fmt.Errorf("cannot lock %s or %s: neither can be opened", o.Manifests, o.State)
	}
	return nil
}

// lockDirectory takes the flock of a directory. That it cannot be taken for
// another reason than a holder (missing, a file system without locks) is no
// error.
func (l *Lock) lockDirectory(o Options, dir, what string) error {
	if dir == "" {
		return nil
	}
	f, err := flock(dir)
	if held := (*heldFile)(nil); errors.As(err, &held) {
		return &HeldError{Owner: o.Owner, PID: held.pid, What: what}
	}
	if err == nil {
		l.held = append(l.held, f)
	}
	return nil
}

// heldFile says that somebody has the flock: pid, or 0.
type heldFile struct{ pid int }

func (h *heldFile) Error() string { return fmt.Sprintf("locked by pid %d", h.pid) }

// Descriptors are what keeps the lock held, for as long as a process has a copy
// of each. They stay the Lock's.
func (l *Lock) Descriptors() ([]int, error) {
	var fds []int
	for _, h := range l.held {
		fd, err := h.descriptor()
		if err != nil {
			return nil, fmt.Errorf("cannot hand the lock on: %v", err)
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// Release gives the lock back. It may be called more than once. The socket goes
// last: whoever has got it finds the rest free.
func (l *Lock) Release() {
	for _, c := range slices.Backward(l.held) {
		c.Close()
	}
	l.held = nil
}
