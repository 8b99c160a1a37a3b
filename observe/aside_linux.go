package observe

import (
	"slices"
	"sync"
	"time"
)

// setAside remembers the processes whose reading does not come back. Each
// holds one goroutine, and is tried again when the kernel has let that go.
type setAside struct {
	stall time.Duration // without progress for so long, a read is given up
	mu    sync.Mutex
	pids  map[int32]asidePID
}

type asidePID struct {
	inode uint64
	what  asideWhat
	ended <-chan struct{} // closed when the read has come back after all
}

// asideWhat is what of a process is not read.
type asideWhat uint8

const (
	nothing     asideWhat = iota
	onlyEnviron           // its state has been read while the environment blocked
	whole
)

// defaultStall is how long one file of /proc may take. It takes microseconds
// where nothing is wrong.
const defaultStall = time.Second

func newSetAside(stall time.Duration) *setAside {
	if stall <= 0 {
		stall = defaultStall
	}
	return &setAside{stall: stall, pids: make(map[int32]asidePID)}
}

// of says what of a process is not to be read.
func (a *setAside) of(pid int32, inode uint64) asideWhat {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, ok := a.pids[pid]
	if !ok {
		return nothing
	}
	select {
	case <-p.ended:
	default:
		if p.inode == inode {
			return p.what
		}
	}
	delete(a.pids, pid)
	return nothing
}

// add sets a process aside: its environment first, all of it the second time.
// ended is closed when the read that blocks returns.
func (a *setAside) add(pid int32, inode uint64, ended <-chan struct{}) asideWhat {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.pids[pid]
	if p.inode != inode {
		p = asidePID{}
	}
	p = asidePID{inode: inode, what: min(p.what+1, whole), ended: ended}
	a.pids[pid] = p
	return p.what
}

// list gives the pids whose reads are still out, sorted. Those that have come
// back are forgotten, also where the process is gone and never asked for again.
func (a *setAside) list() []int {
	a.mu.Lock()
	defer a.mu.Unlock()
	var pids []int
	for pid, p := range a.pids {
		select {
		case <-p.ended:
			delete(a.pids, pid)
		default:
			pids = append(pids, int(pid))
		}
	}
	slices.Sort(pids)
	return pids
}
