package actuate

import (
	"os"
	"os/signal"
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

// run looks after each SIGCHLD and each Poke, until Close.
func (o *orphanReaper) run() {
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	defer signal.Stop(died)
	var due <-chan time.Time
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

// reapAll reaps until the first zombie that the kernel names is not an orphan.
// Such a one hides what comes after it, but only until its own waiter has taken
// it, which pokes again (or was announced by a SIGCHLD that is still to come).
func (o *orphanReaper) reapAll() {
	for o.reapOne() {
	}
}

// reapOne peeks (waitid(2) WNOWAIT) and reaps by pid only if the zombie is an
// orphan. The fork lock keeps a child from being taken for one between its fork
// and its registration.
func (o *orphanReaper) reapOne() bool {
	o.spawner.forking.Lock()
	defer o.spawner.forking.Unlock()
	info, err := waitid(unix.P_ALL, 0, unix.WNOWAIT)
	if err != nil || info.pid == 0 || o.reaper.isOwn(info.pid) {
		return false
	}
	// Every process of ours began a session, so what is still in this one was
	// forked by somebody else in this program, who waits for it.
	if sid, err := unix.Getsid(info.pid); err == nil && sid == o.session {
		return false
	}
	_, err = waitid(unix.P_PID, info.pid, 0)
	return err == nil
}

// Close ends run.
func (o *orphanReaper) Close() { close(o.closed) }
