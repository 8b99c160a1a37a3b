package observe

import (
	"context"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// ScannerOptions say whose processes a Scanner looks for.
type ScannerOptions struct {
	Owner spec.Owner
	// UID is the user that the workloads run as.
	UID int
	// Deadline bounds one scan. Default 10 s.
	Deadline time.Duration
	// Stall is how long the reading of one process may take before it is set
	// aside. Default 1 s.
	Stall time.Duration
	// ProcRoot is where the process table of Linux is found. Default /proc.
	ProcRoot string
	// Spawned says of a child of this process that it was forked on purpose,
	// and so is no orphan. Without it, orphans are told only when they are a
	// second old. It must not block for long.
	Spawned func(pid int) bool
}

const defaultDeadline = 10 * time.Second

// Scanner reads the process table and tells whose the processes are. It
// remembers what it has read, so that a scan reads little of what was there
// before. Scan is for one goroutine at a time; Listeners may be called beside
// it.
type Scanner struct {
	who      identity
	deadline time.Duration
	table    *table
	complete bool
	stale    bool // the last scan has failed
	last     Snapshot
	known    []Witness // of the last scan
	parent   parenthood
	groups   map[spec.Instance]*gathering // of the last scan
	accounts map[string]int64             // uids of users, by the form of the manifest; -1 for none
}

// NewScanner opens the process table. It fails with ErrUnsupported where
// processes cannot be identified.
func NewScanner(o ScannerOptions) (*Scanner, error) {
	t, err := openTable(o)
	if err != nil {
		return nil, err
	}
	if o.Deadline <= 0 {
		o.Deadline = defaultDeadline
	}
	return &Scanner{
		who:      identity{owner: o.Owner, uid: uint32(o.UID), self: ownPID()},
		deadline: o.Deadline, table: t,
		parent: parenthood{self: ownPID(), since: BootTick(), spawned: o.Spawned, empty: map[spec.Instance]uint64{}},
	}, nil
}

// Close releases the process table. No scan may be under way.
func (s *Scanner) Close() error { return s.table.close() }

// Scan reads the process table to the given depth; the first time it reads all
// of it. On error the snapshot says what was known before, with Err set. A
// process whose reading blocks is set aside; the scan ends at its deadline.
func (s *Scanner) Scan(ctx context.Context, known []Witness, depth Depth) Snapshot {
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	began, tick := time.Now(), BootTick()
	if !s.complete {
		depth = Full
	}
	changed, err := s.table.refresh(ctx, s.policy(known, depth))
	if err != nil {
		return s.fail(err)
	}
	changed = s.resolveUsers(known, depth) || changed || s.stale
	if !slices.EqualFunc(known, s.known, sameWitness) {
		s.known, changed = slices.Clone(known), true
	}
	if changed || !s.complete || anyEnded(s.last.Instances) {
		a := attribute(s.who, s.table.rows, known, s.last.Instances)
		a.claimOrphans(&s.parent)
		next := s.assemble(a, began)
		if err := s.table.failure(); err != nil {
			return s.fail(err)
		}
		s.parent.remember(a, s.groups, tick)
		s.groups = a.groups
		s.last = next
	}
	s.complete, s.stale = true, false
	s.last.Complete, s.last.Began, s.last.Err = true, began, nil
	s.last.Blocked, s.last.Processes = s.table.blocked(), len(s.table.rows)
	return s.last
}

// fail gives what was known before. What has been read since then has still to
// be concluded.
func (s *Scanner) fail(err error) Snapshot {
	s.stale = true
	s.last.Err = err
	return s.last
}

func (s *Scanner) policy(known []Witness, depth Depth) *policy {
	p := &policy{depth: depth, self: int32(s.who.self), known: known}
	for _, in := range s.last.Instances {
		if !in.Live() {
			p.end(in.ID)
		}
	}
	return p
}

func sameWitness(a, b Witness) bool {
	return a.ID == b.ID && a.Main == b.Main && a.Key == b.Key && a.Handle == b.Handle &&
		a.Ledger == b.Ledger && a.HeldUntil == b.HeldUntil && a.User == b.User && a.UID == b.UID &&
		a.Hash == b.Hash && a.OnExit == b.OnExit && a.Log == b.Log &&
		a.Scope == b.Scope && a.StartedAt.Equal(b.StartedAt)
}

func anyEnded(instances []*Instance) bool {
	return slices.ContainsFunc(instances, func(in *Instance) bool { return !in.Live() })
}
