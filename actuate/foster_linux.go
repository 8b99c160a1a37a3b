package actuate

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

// fostering is the look-out for orphans.
type fostering struct {
	died chan os.Signal
	stop chan struct{}
	done chan struct{}
}

// open makes us a child subreaper (prctl(2), Linux 3.4) and begins to reap.
func (f *Foster) open() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot take in what children leave behind: %w", os.NewSyscallError("prctl", err))
	}
	f.died, f.stop, f.done = make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(f.died, syscall.SIGCHLD)
	go f.reap()
	return nil
}

// bind sets what the kernel does for a bond.
func bind(cmd *exec.Cmd, b Bond) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: b == Apart}
	if b == Beside {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
}

// Close ends the look-out, and is back when it has ended. What is there stays.
func (f *Foster) Close() {
	signal.Stop(f.died)
	close(f.stop)
	<-f.done
}

// reap takes the orphans that have ended. Nobody waits for it: see orphanDelay.
func (f *Foster) reap() {
	defer close(f.done)
	for {
		select {
		case <-f.died:
		case <-f.stop:
			return
		}
		select {
		case <-time.After(orphanDelay):
		case <-f.stop:
			return
		}
		f.reapAll()
	}
}

func (f *Foster) reapAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, pid := range f.orphansLocked() {
		_, _ = waitid(unix.P_PID, pid, 0) // one that runs is not taken
	}
}

// orphansLocked are the children that somebody else has started.
func (f *Foster) orphansLocked() (pids []int) {
	for _, pid := range childPIDs() {
		if _, own := f.own[pid]; !own {
			pids = append(pids, pid)
		}
	}
	return pids
}

// maxLeft bounds how many leftovers are listed.
const maxLeft = 1000

// Left lists what lives and was left behind: the orphans, and what is below them.
func (f *Foster) Left() []Leftover {
	f.mu.Lock()
	defer f.mu.Unlock()
	var left []Leftover
	for todo := f.orphansLocked(); len(todo) > 0 && len(left) < maxLeft; todo = todo[1:] {
		p, err := observe.ReadProcess(todo[0])
		if err != nil {
			continue // gone
		}
		todo = append(todo, childPIDsOf(todo[0])...)
		if !p.Dead() {
			left = append(left, Leftover{p.Ident, commandLine(p), p.Markers.Owner, p.Key})
		}
	}
	return left
}

// maxCommandLine is as much of a command line as is shown, in bytes.
const maxCommandLine = 120

// commandLine is that of proc_pid_cmdline(5), or where there is none its name.
func commandLine(p *observe.Process) string {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/cmdline")
	line = bytes.TrimRight(line, "\x00")
	if err != nil || len(line) == 0 {
		return p.Command
	}
	return observe.Printable(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})), maxCommandLine)
}

// How what was left is ended: endPause lies between two looks, and after
// endRounds without an end it is given up.
const (
	endPause  = 10 * time.Millisecond
	endRounds = 500
)

// End ends what was left behind: SIGTERM, and after the grace SIGKILL, to each
// orphan, until no more of them come. That they are children, which nobody else
// reaps, proves each time whom a signal reaches. It gives what refuses to go.
func (f *Foster) End(grace time.Duration) []Leftover {
	begun := time.Now()
	told := make(map[observe.Ident]bool)
	quiet := 0
	for round := 0; round < endRounds && quiet < quietRounds; round++ {
		f.reapAll()
		if f.signalOrphans(told, time.Since(begun) >= grace) == 0 {
			quiet++
		} else {
			quiet = 0
		}
		<-time.After(endPause)
	}
	return f.Left()
}

// quietRounds are the looks that have to find nothing, one after another: a
// process may be handed to us between two of them.
const quietRounds = 2

// signalOrphans signals each that lives, SIGTERM only once. It gives their number.
func (f *Foster) signalOrphans(told map[observe.Ident]bool, kill bool) (living int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, pid := range f.orphansLocked() {
		fd, err := openPidfd(pid)
		if err != nil {
			continue
		}
		if p, err := observe.ReadProcess(pid); err == nil && p.PPID == os.Getpid() && !p.Dead() {
			living++
			switch {
			case kill:
				_ = deliver(fd, unix.SIGKILL, 0)
			case !told[p.Ident]:
				told[p.Ident] = true
				_ = deliver(fd, unix.SIGTERM, 0)
				_ = deliver(fd, unix.SIGCONT, 0) // one that is stopped would not hear it
			}
		}
		unix.Close(fd)
	}
	return living
}
