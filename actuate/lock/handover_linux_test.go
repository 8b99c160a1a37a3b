package lock

import (
	"context"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

// copies gives descriptors as another process would have them.
func copies(t *testing.T, l *Lock) (fds []int) {
	t.Helper()
	own, err := l.Descriptors()
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range own {
		dup, err := unix.Dup(fd)
		if err != nil {
			t.Fatal(err)
		}
		fds = append(fds, dup)
	}
	return fds
}

// A lock that a guard shares stays taken when the controller has let go, says
// what the guard does, and can be waited for.
func TestGuardHoldsTheLockUntilItEnds(t *testing.T) {
	o := options(t)
	l, err := Acquire(o)
	if err != nil {
		t.Fatal(err)
	}
	fds := copies(t, l)
	l.Release()
	g, err := Adopt(fds, func() string { return "reaping 3 processes" })
	if err != nil {
		t.Fatal(err)
	}
	held := heldBy(t, o)
	if held.Guard != "reaping 3 processes" {
		t.Errorf("the guard says %q", held.Guard)
	}
	waited := make(chan error, 1)
	go func() { waited <- held.Wait(context.Background()) }()
	second := heldBy(t, o)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := second.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was ended gives %v", err)
	}
	g.Release()
	if err := <-waited; err != nil {
		t.Errorf("waiting gives %v", err)
	}
	acquire(t, o)
}

// The next image of a controller goes on with its lock, as a controller.
func TestNextImageKeepsTheLock(t *testing.T) {
	o := options(t)
	l, err := Acquire(o)
	if err != nil {
		t.Fatal(err)
	}
	fds := copies(t, l)
	l.Release()
	next, err := Adopt(fds, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(next.Release)
	if held := heldBy(t, o); held.Guard != "" || held.Wait(t.Context()) == nil {
		t.Errorf("a controller is taken for a guard: %+v", held)
	}
}

// Whoever asks while a guard ends is not told that the dead controller runs.
func TestGuardThatEndsUnheardFreesTheLock(t *testing.T) {
	o := options(t)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	socket := os.NewFile(uintptr(fd), "lock")
	defer socket.Close()
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: spec.LockAddress(o.UID, o.Owner)}); err != nil {
		t.Fatal(err)
	}
	controller := start(t, "listen", o, nil, socket)
	_ = controller.Process.Kill()
	_ = controller.Wait()

	type outcome struct {
		lock *Lock
		err  error
	}
	asked := make(chan outcome, 1)
	go func() { l, err := Acquire(o); asked <- outcome{l, err} }()
	conn, _, err := unix.Accept(fd)
	if err != nil {
		t.Fatal(err)
	}
	socket.Close() // the address first, as a guard does
	unix.Close(conn)
	got := <-asked
	if got.err != nil {
		t.Fatalf("Acquire: %v", got.err)
	}
	got.lock.Release()
}
