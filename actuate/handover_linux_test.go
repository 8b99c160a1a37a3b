package actuate

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

// A guard may be killed at any moment of an upgrade. What the next image is told of
// it must be so: of a guard that followed meanwhile it would know nothing, and start
// another one beside it.
func TestPauseKeepsTheGuard(t *testing.T) {
	for _, c := range []struct {
		name  string
		until func(killed int) bool // the pause begins
	}{
		{"killed a moment ago", func(int) bool { return true }},
		{"reaped a moment ago", func(killed int) bool { return !slices.Contains(childPIDs(), killed) }},
	} {
		for range 5 {
			t.Run(c.name, func(t *testing.T) { // one actuator at a time: each reaps what it does not know
				if err := pausedAfterGuard(t, c.until); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// pausedAfterGuard kills the first guard of an actuator, pauses, and says what is not
// as the next image would be told.
func pausedAfterGuard(t *testing.T, until func(killed int) bool) error {
	a := newActuator(t, func(o *Options) { o.Environ = append(o.Environ, envPart+"=guard") })
	before := childPIDs()
	g, err := a.StartGuard(GuardOptions{Ledger: -1})
	if err != nil {
		return err
	}
	defer g.Dismiss()
	first := g.current()
	if err := unix.Kill(first.PID, unix.SIGKILL); err != nil {
		return err
	}
	for limit := time.Now().Add(patience); !until(first.PID); {
		if time.Now().After(limit) {
			return fmt.Errorf("the guard, pid %d, is not reaped", first.PID)
		}
	}
	a.Pause()
	defer a.Resume()
	h, _ := a.Bequeath(g)
	var told []int
	if !h.Guard.IsZero() {
		told = []int{h.Guard.PID}
	}
	for over := time.Now().Add(50 * time.Millisecond); time.Now().Before(over); {
		there := slices.DeleteFunc(childPIDs(), func(pid int) bool { return slices.Contains(before, pid) })
		if !slices.Equal(there, told) {
			return fmt.Errorf("children %v, the next image is told of %v", there, told)
		}
	}
	return nil
}

// A child that dies while one image follows another is one that the next image has
// inherited, also if its end is told of before anybody has asked.
func TestInheritedIsWhatWasLeft(t *testing.T) {
	a := newActuator(t)
	in, err := a.Start(entry(t, "sleep", "1000"), "token", nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Pause()
	defer a.Resume()
	h, _ := a.Bequeath(nil)
	for _, fd := range []*int{&h.Roll, &h.Particulars} { // an execve(2) would not close ours
		if *fd, err = unix.FcntlInt(uintptr(*fd), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Kill(in.LastMain.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	next := newActuator(t, func(o *Options) { o.Heritage = &h })
	if e := <-next.Exits(); e.Ident != in.LastMain || e.Signal != int(unix.SIGKILL) {
		t.Errorf("exit %+v, want %v, killed", e, in.LastMain)
	}
	if got := next.Inherited(); !slices.Equal(got, []observe.Ident{in.LastMain}) {
		t.Errorf("inherited %v, want %v", got, in.LastMain)
	}
}
