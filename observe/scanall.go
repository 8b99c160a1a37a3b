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
}

// ScanAll finds every process with a marker variable, and those that belong to
// one of them although theirs are gone, sorted by pid. It needs no controller:
// each verdict is what the controller of the owner that the markers name would
// say, if its workloads run as the user that the process runs as.
func ScanAll(ctx context.Context) ([]Seen, error) {
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
	for _, who := range claimants(s.table.rows) {
		s.who = who
		a := attribute(who, s.table.rows, nil, nil)
		for i := range a.findings {
			f := &a.findings[i]
			row := &a.table[f.at]
			mine := f.group != nil || row.markers().Owner == who.owner && row.detail.uid == who.uid
			if told[row.PID] || !mine {
				continue
			}
			if p := s.show(a, f); p != nil {
				told[row.PID] = true
				seen = append(seen, Seen{p, who.owner})
			}
		}
	}
	slices.SortFunc(seen, func(a, b Seen) int { return cmp.Compare(a.PID, b.PID) })
	return seen, nil
}

// claimants are the owners and users that the marked processes name, in the
// order of their first process.
func claimants(rows []sighting) []identity {
	var all []identity
	for i := range rows {
		if rows[i].environ != environMarked {
			continue
		}
		d := rows[i].detail
		known := func(who identity) bool { return who.owner == d.markers.Owner && who.uid == d.uid }
		if !slices.ContainsFunc(all, known) {
			all = append(all, identity{owner: d.markers.Owner, uid: d.uid})
		}
	}
	return all
}
