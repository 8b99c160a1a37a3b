package observe

import (
	"slices"

	"github.com/proc-controller/proc-controller/spec"
)

// sighting is one process as it was read, before anything is concluded from
// it. The table of a scan holds one for each process, by value, so that a
// stranger costs no allocation.
type sighting struct {
	Ident
	inode           uint64 // of /proc/PID: as long as it stays, so does the process
	ppid, pgid, sid int32
	threads         int32
	state           byte
	environ         environState
	// settled says that the process was old enough when it was read: what it
	// showed then is what it shows. A fresh child's environ can be empty for a
	// moment, and a shell may still become another program.
	settled bool
	// manager says that it is a systemd, to which orphans are handed.
	manager bool
	// bare says that the environment is so small that it may have been cleared.
	bare bool
	// fresh says that this scan has read it.
	fresh bool
	// detail is there for the few processes that might concern us.
	detail *detail
	// memory is there for those that an earlier scan has handed out.
	memory *memory
}

// memory is what a scan leaves of a process for the next.
type memory struct {
	// prior is the instance in which this very process was verified.
	prior spec.Instance
	shown *Process // nil outside of a scan
	basis basis
}

// detail is what is read only of processes that might concern us.
type detail struct {
	markers   spec.Markers
	uid, euid uint32
	nested    bool // lives in a PID namespace below ours
	// setID says of a process of root that another user started it, by way of a
	// set-user-ID program, and so may have written its environment.
	setID   bool
	command string
	cgroup  string
	scope   string // name of the scope of ours in cgroup, and its instance
	scopeOf spec.Instance
}

// environState is what came of reading an environment.
type environState uint8

const (
	environNotRead environState = iota // another user's; not tried
	environEmpty
	environPlain  // read, and no marker in it
	environMarked // read, and at least one marker variable in it
	environDenied
	environBlocked // the read did not come back
)

func equalMarkers(a, b *spec.Markers) bool {
	return a.Subprocess == b.Subprocess && a.Owner == b.Owner && a.Instance == b.Instance &&
		a.Hash == b.Hash && a.OnExit == b.OnExit && a.AgentName == b.AgentName &&
		a.MCPService == b.MCPService && slices.Equal(a.Ports, b.Ports)
}

// readable says that the environment could be read.
func (e environState) readable() bool {
	return e == environEmpty || e == environPlain || e == environMarked
}

// block notes that the environment did not come back. What was read of it
// before still holds.
func (s *sighting) block() {
	if s.environ == environNotRead {
		s.environ = environBlocked
	}
}

// dead is Process.Dead.
func (s *sighting) dead() bool {
	return s.state == 'X' || s.state == 'Z' && s.threads <= 1
}

// related says that the process might concern us.
func (s *sighting) related() bool { return s.detail != nil || s.memory != nil }

// prior is the instance in which an earlier scan has verified the process.
func (s *sighting) prior() spec.Instance {
	if s.memory == nil {
		return ""
	}
	return s.memory.prior
}

var noMarkers spec.Markers

func (s *sighting) markers() *spec.Markers {
	if s.detail == nil {
		return &noMarkers
	}
	return &s.detail.markers
}

// forgetMarkers drops the markers of a process that has cleared them. It is
// always true, for the sake of its callers.
func (s *sighting) forgetMarkers() bool {
	if s.detail != nil && !equalMarkers(&s.detail.markers, &noMarkers) {
		bare := *s.detail
		bare.markers = noMarkers
		s.detail = &bare
	}
	return true
}

// find gives the index of a pid in a table that is sorted by pid, or -1.
func find(table []sighting, pid int32) int {
	lo, hi := 0, len(table)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if table[mid].PID < int(pid) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(table) && table[lo].PID == int(pid) {
		return lo
	}
	return -1
}
