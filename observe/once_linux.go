package observe

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// onceStall bounds what is read of a single process.
const onceStall = 2 * time.Second

// procDir is the process table that single processes are read from. Once it
// could be opened it stays open for as long as the program runs.
var procDir struct {
	sync.Mutex
	fd int
}

func openProcDir() (int, error) {
	procDir.Lock()
	defer procDir.Unlock()
	if procDir.fd > 0 {
		return procDir.fd, nil
	}
	fd, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		procDir.fd = fd
	}
	return fd, err
}

// readers are kept for their buffers.
var readers sync.Pool

// once reads something of single processes, in a goroutine of its own, which is
// left behind with its reader when the kernel does not answer.
func once[T any](read func(*reader) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	fd, err := openProcDir()
	if err != nil {
		var none T
		return none, fmt.Errorf("cannot open the process table: %v", err)
	}
	done := make(chan outcome, 1)
	go func() {
		r, _ := readers.Get().(*reader)
		if r == nil {
			r = newReader(fd)
		}
		value, err := read(r)
		if failure := r.failure(); failure != nil {
			err = failure
		}
		readers.Put(r)
		done <- outcome{value, err}
	}()
	timer := time.NewTimer(onceStall)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.value, o.err
	case <-timer.C:
		var none T
		return none, ErrStuck
	}
}

// sightingsOf reads the named processes that are there, whoever's they are.
func sightingsOf(pids ...int) ([]sighting, error) {
	return once(func(r *reader) ([]sighting, error) {
		var rows []sighting
		w := sights{privileged: true, now: BootTick(), settle: ticksPerSecond()}
		for _, pid := range pids {
			if refused(pid) || find(rows, int32(pid)) >= 0 {
				continue
			}
			s, ok := r.see(&target{how: readWhole, was: sighting{Ident: Ident{PID: pid}}}, &w)
			if !ok || s.detail == nil && !r.describe(&s, noMarkers) {
				continue
			}
			if len(rows) > 0 && rows[0].PID > pid {
				rows = append([]sighting{s}, rows...)
			} else {
				rows = append(rows, s)
			}
		}
		return rows, nil
	})
}

// Verify tells whether a pid still names the process with this start tick, and
// lives: nil, ErrGone, or ErrStuck.
func Verify(id Ident) error {
	if refused(id.PID) {
		return ErrGone
	}
	s, err := once(func(r *reader) (sighting, error) {
		s := sighting{Ident: Ident{PID: id.PID}}
		if !r.seeState(&s) {
			return s, ErrGone
		}
		return s, nil
	})
	switch {
	case err != nil:
		return err
	case s.Ident != id || s.dead():
		return ErrGone
	}
	return nil
}
