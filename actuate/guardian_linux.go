package actuate

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

// guardName is how a guard shows as comm (proc_pid_comm(5)).
const guardName = "proc-guard"

// AwaitEnd is what a guard does nearly all its life: it waits for the end of the
// controller, and for nothing else. The signals that end a controller mean
// nothing to it. It says false if it was dismissed. Until is the tick of the
// boot clock at which the end was noticed.
func (b *Brief) AwaitEnd() (died bool, until uint64, err error) {
	signal.Ignore(heldBackAsOS()...)
	// Caught, and for nobody: a reader of the log who has gone ends nothing.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ShowAs(guardName)
	for _, fd := range append([]int{b.Handle, b.Bell, b.Roll, b.Particulars, b.Ledger}, b.Lock...) {
		if fd >= 0 {
			unix.CloseOnExec(fd)
		}
	}
	ForgetPages()
	for {
		rung, err := b.poll()
		switch {
		case err != nil:
			return false, 0, err
		case rung:
			return false, 0, nil
		}
		until = observe.BootTick()
		if observe.Verify(b.Controller) != nil {
			return true, until, nil
		}
		// An execve(2) of the controller's is no end, but before Linux 6.15 it
		// may look like one for a moment.
		<-time.After(execPause)
	}
}

const execPause = 10 * time.Millisecond

func heldBackAsOS() (signals []os.Signal) {
	for _, s := range heldBack {
		signals = append(signals, s)
	}
	return signals
}

// poll sleeps until the bell is rung or the handle shows an end. The bell counts
// more: it is rung when there is nothing left to guard.
func (b *Brief) poll() (rung bool, err error) {
	fds := []unix.PollFd{
		{Fd: int32(b.Handle), Events: unix.POLLIN},
		{Fd: int32(b.Bell), Events: unix.POLLIN},
	}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return false, os.NewSyscallError("poll", err)
		default:
			return fds[1].Revents != 0, nil
		}
	}
}

// Children gives the main processes that were children of the controller and not
// reaped when it died. Of one of which no more than that is known, the witness has
// no ID.
func (b *Brief) Children() ([]observe.Witness, error) {
	roll, particulars := os.NewFile(uintptr(b.Roll), "children"), os.NewFile(uintptr(b.Particulars), "particulars")
	defer roll.Close()
	defer particulars.Close()
	return readWitnesses(roll, particulars)
}
