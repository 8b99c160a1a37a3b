package actuate

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// orphanDelay is how long after a SIGCHLD the orphans are looked for. A zombie
// is dead for everybody who looks, so nobody waits for this; but a look walks
// the list of all children in the kernel, and a thousand ends must not cost a
// thousand walks.
const orphanDelay = 50 * time.Millisecond

// orphanReaper reaps what our children abandoned and the kernel re-parented to
// us as the subreaper. It never takes the status of a child of ours.
type orphanReaper struct {
	spawner *spawner
	reaper  *reaper
	session int // our own
	poke    chan struct{}
	closed  chan struct{}
}

func newOrphanReaper(s *spawner, r *reaper) *orphanReaper {
	session, _ := unix.Getsid(0)
	return &orphanReaper{spawner: s, reaper: r, session: session, poke: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Poke asks for a look; it never blocks.
func (o *orphanReaper) Poke() {
	select {
	case o.poke <- struct{}{}:
	default:
	}
}

// run looks after each SIGCHLD and each Poke, until Close; and once at its
// beginning, since the signals of what has ended between two images of this
// program were heard by neither.
func (o *orphanReaper) run() {
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	defer signal.Stop(died)
	due := time.After(orphanDelay)
	for {
		select {
		case <-died:
		case <-o.poke:
		case <-due:
			due = nil
			o.reapAll()
			continue
		case <-o.closed:
			return
		}
		if due == nil {
			due = time.After(orphanDelay)
		}
	}
}

// reapAll reaps every orphan that has ended. The kernel names one zombie at a
// time, and the same one until somebody takes it: one that is not ours to take
// hides what comes after it, so then the children are gone through one by one.
func (o *orphanReaper) reapAll() {
	for {
		switch o.reapOne(unix.P_ALL, 0) {
		case nothing:
			return
		case notOurs:
			for _, pid := range childPIDs() {
				o.reapOne(unix.P_PID, pid)
			}
			return
		}
	}
}

// What came of looking for a zombie to reap.
type reaping uint8

const (
	nothing reaping = iota // none has ended
	notOurs                // one has, and somebody else waits for it
	reaped
)

// reapOne peeks (waitid(2) WNOWAIT) and reaps by pid only if the zombie is an
// orphan. The fork lock keeps a child from being taken for one between its fork
// and its registration.
func (o *orphanReaper) reapOne(idType, id int) reaping {
	o.spawner.forking.Lock()
	defer o.spawner.forking.Unlock()
	info, err := waitid(idType, id, unix.WNOWAIT)
	if err != nil || info.pid == 0 {
		return nothing
	}
	// Every process of ours began a session, so what is still in this one was
	// forked by somebody else in this program, or before its execve(2).
	sid, err := unix.Getsid(info.pid)
	if err == nil && sid == o.session || o.reaper.isOwn(info.pid) {
		return notOurs
	}
	o.reaper.releasing.Lock()
	defer o.reaper.releasing.Unlock()
	if _, err = waitid(unix.P_PID, info.pid, 0); err != nil {
		return nothing
	}
	return reaped
}

// childPIDs lists the children of this process.
func childPIDs() []int { return childPIDsOf(os.Getpid()) }

// childPIDsOf lists the children of a process: proc_pid_task(5) has a file of
// them for each thread (CONFIG_PROC_CHILDREN). Without such files it is empty.
func childPIDsOf(pid int) (pids []int) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, t := range threads {
		b, _ := os.ReadFile(dir + "/" + t.Name() + "/children")
		for field := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// Close ends run.
func (o *orphanReaper) Close() { close(o.closed) }
