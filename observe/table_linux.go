package observe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// table is the process table of Linux, read from /proc and remembered between
// scans. It is used by one goroutine at a time.
type table struct {
	root   string
	proc   int // the open directory
	self   int32
	sights sights
	// readers are one for each core that reads. A reader that a blocked read
	// has taken along is replaced; lent says that it took t.todo too.
	readers [2]*reader
	lent    atomic.Bool
	rows    []sighting // of the last scan that succeeded, sorted by pid
	spare   []sighting
	listed  []entry
	todo    []target
	aside   *setAside
}

func openTable(o ScannerOptions) (*table, error) {
	root := o.ProcRoot
	if root == "" {
		root = "/proc"
	}
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open the process table %s: %w", root, err)
	}
	t := &table{root: root, proc: fd, readers: [2]*reader{newReader(fd), newReader(fd)}, aside: newSetAside(o.Stall)}
	t.sights = sights{uid: uint32(o.UID), privileged: os.Geteuid() == 0, settle: ticksPerSecond()}
	t.self = int32(os.Getpid())
	return t, nil
}

func (t *table) close() error { return unix.Close(t.proc) }

// blocked are the pids that are set aside.
func (t *table) blocked() []int { return t.aside.list() }

// refresh reads the process table as the policy says, and tells whether
// anything has changed that could change a conclusion. On error the rows are
// what they were.
func (t *table) refresh(ctx context.Context, p *policy) (bool, error) {
	listed, err := t.readers[0].list(t.listed[:0])
	t.listed = listed
	if err != nil {
		return false, fmt.Errorf("cannot list the process table: %w", err)
	}
	if err := t.plausible(); err != nil {
		return false, err
	}
	t.sights.now = BootTick()
	if !t.sights.privileged {
		t.sights.leaders = leadersOf(p.known)
	}
	changed := t.missing(p)
	next := t.plan(p)
	err = t.readTargets(ctx, next)
	if t.lent.Swap(false) {
		defer func() { t.todo = nil }()
	}
	if err != nil {
		return false, err
	}
	for i := range t.todo {
		target := &t.todo[i]
		if differs(&target.was, &next[target.row]) {
			changed = true
		}
	}
	next = slices.DeleteFunc(next, func(s sighting) bool { return s.PID == 0 })
	t.rows, t.spare = next, t.rows[:0]
	return t.readBare() || changed, t.failure()
}

// failure tells, once, that one of the readers could not read.
func (t *table) failure() error {
	return errors.Join(t.readers[0].failure(), t.readers[1].failure())
}

// plausible refuses a listing that does not show what must be there. A /proc
// that hides processes (hidepid=2 in proc(5)) cannot prove that one is gone.
func (t *table) plausible() error {
	if !slices.IsSortedFunc(t.listed, comparePID) {
		slices.SortFunc(t.listed, comparePID)
	}
	if t.root != "/proc" {
		return nil
	}
	for _, pid := range []int{1, os.Getpid()} {
		if _, ok := slices.BinarySearchFunc(t.listed, entry{pid: int32(pid)}, comparePID); !ok {
			return fmt.Errorf("%w: %s does not show pid %d (see hidepid in proc(5))", ErrHidden, t.root, pid)
		}
	}
	return nil
}

func comparePID(a, b entry) int { return int(a.pid) - int(b.pid) }

// missing says whether a process that concerns us is no longer listed. Where it
// was a main process, its instance has ended.
func (t *table) missing(p *policy) bool {
	lost, listed := false, t.listed
	for i := range t.rows {
		s := &t.rows[i]
		if !s.related() {
			continue
		}
		for len(listed) > 0 && int(listed[0].pid) < s.PID {
			listed = listed[1:]
		}
		if len(listed) > 0 && int(listed[0].pid) == s.PID && listed[0].inode == s.inode {
			continue
		}
		lost = true
		if m := s.memory; m != nil && m.shown.Role == Main {
			p.end(m.prior)
		}
	}
	return lost
}

// plan merges what is listed with what is known. It gives the rows to come, and
// puts into t.todo those of them that have to be read.
func (t *table) plan(p *policy) []sighting {
	next, known, children := t.spare[:0], t.rows, t.childPIDs()
	t.todo = t.todo[:0]
	for _, e := range t.listed {
		for len(known) > 0 && known[0].PID < int(e.pid) {
			known = known[1:]
		}
		if len(known) == 0 || known[0].PID != int(e.pid) || known[0].inode != e.inode {
			next = append(next, sighting{Ident: Ident{PID: int(e.pid)}, inode: e.inode})
			t.want(next, readWhole)
			continue
		}
		next = append(next, known[0])
		next[len(next)-1].fresh = false
		h := p.of(&known[0])
		if children.has(e.pid) && known[0].ppid != t.self {
			h = max(h, readState) // it was handed to us
		}
		if h > readCheck || h == readCheck && p.depth > Look {
			t.want(next, h)
		}
		known = known[1:]
	}
	return next
}

// want has the last of the rows read, unless it is set aside.
func (t *table) want(rows []sighting, h how) {
	row := len(rows) - 1
	s := &rows[row]
	switch t.aside.of(int32(s.PID), s.inode) {
	case whole:
		return
	case onlyEnviron:
		if h == readWhole {
			h = skipEnviron
		}
	}
	t.todo = append(t.todo, target{row, h, *s})
}

// parallelFrom is the number of processes from which it pays to read on two
// cores.
const parallelFrom = 256

// readTargets reads what t.todo names into next. A process that is gone
// becomes an empty row.
func (t *table) readTargets(ctx context.Context, next []sighting) error {
	if len(t.todo) < parallelFrom {
		return t.readPart(ctx, t.todo, next, 0)
	}
	half := len(t.todo) / 2
	var wg sync.WaitGroup
	var other error
	wg.Go(func() { other = t.readPart(ctx, t.todo[half:], next, 1) })
	err := t.readPart(ctx, t.todo[:half], next, 0)
	wg.Wait()
	return errors.Join(err, other)
}

// differs says whether a process that concerns us is another one than it was,
// or a stranger is new.
func differs(was, is *sighting) bool {
	return was.Ident != is.Ident || was.environ != is.environ || was.settled != is.settled ||
		was.detail != is.detail || was.ppid != is.ppid || was.pgid != is.pgid || was.sid != is.sid ||
		was.dead() != is.dead() || is.related() && !sameState(was.state, is.state)
}

// leadersOf collects the pids of main processes, for those who may not read
// other users' processes.
func leadersOf(known []Witness) *pidSet {
	set := new(pidSet)
	for i := range known {
		if pid := known[i].Main.PID; !refused(pid) {
			set.add(int32(pid))
		}
	}
	return set
}

// readBare looks at the cgroup of orphans that may have cleared their
// environment: in a scope of ours they are still known. It says whether any is.
func (t *table) readBare() bool {
	found := false
	for i := range t.rows {
		s := &t.rows[i]
		if !s.fresh || !s.bare || s.detail != nil || s.dead() || !t.orphaned(s) {
			continue
		}
		data, errno := t.readers[0].read(int32(s.PID), "cgroup")
		if errno != 0 {
			continue
		}
		if _, _, ok := scopeOf(parseCgroup(data)); ok {
			found = t.readers[0].describe(s, noMarkers) || found
		}
	}
	return found
}

// orphaned says that the parent is one to whom orphans are handed.
func (t *table) orphaned(s *sighting) bool {
	if s.ppid == 1 || s.ppid == t.self {
		return true
	}
	i := find(t.rows, s.ppid)
	return i >= 0 && t.rows[i].manager
}

// describe reads the detail of a process that a witness has connected with us.
func (t *table) describe(s *sighting) bool {
	if s.Start == 0 && !t.readers[0].seeState(s) {
		return false
	}
	return t.readers[0].describe(s, *s.markers())
}
