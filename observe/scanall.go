package observe

import (
	"cmp"
	"context"
	"slices"

	"github.com/proc-controller/proc-controller/spec"
)

// Seen is a process with the owner that it is taken to belong to.
type Seen struct {
	*Process
	Owner spec.Owner
	// OwnerUID is the user that the owner's controller runs as.
	OwnerUID int
}

// ScanAll finds every process with a marker variable, and those that belong to
// one of them although theirs are gone, sorted by pid. It needs no controller:
// each verdict is what the controller of the owner that the markers name would
// say. That one runs as the user of the process, unless it is known, by manifest
// or ledger, that the user of the viewpoint has had the workload run as another.
func ScanAll(ctx context.Context, from Viewpoint) ([]Seen, error) {
	s, err := NewScanner(ScannerOptions{UID: ownUID()})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	if _, err := s.table.refresh(ctx, &policy{depth: Full}); err != nil {
		return nil, err
	}
	var seen []Seen
	told := make(map[int]bool)
	for _, j := range from.judges(s.table.rows) {
		s.who = j.identity
		a := attribute(j.identity, s.table.rows, j.known, nil)
		for i := range a.findings {
			f := &a.findings[i]
			row := &a.table[f.at]
			if told[row.PID] || !j.speaksFor(f, row) {
				continue
			}
			if p := s.show(a, f); p != nil {
				told[row.PID] = true
				seen = append(seen, Seen{p, j.owner, int(j.uid)})
			}
		}
	}
	slices.SortFunc(seen, func(a, b Seen) int { return cmp.Compare(a.PID, b.PID) })
	return seen, nil
}

// speaksFor says that a finding is for this judge to make: the process is of an
// instance of that owner, or everything in it that can be names the owner.
func (j *judge) speaksFor(f *finding, row *sighting) bool {
	return f.group != nil || row.markers().Owner == j.owner && row.detail != nil && (row.detail.uid == j.uid || f.verdict == Ours)
}
