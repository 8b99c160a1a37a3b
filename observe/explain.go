package observe

import (
	"context"
	"fmt"
	"slices"

	"github.com/proc-controller/proc-controller/spec"
)

// Explanation says whose a process is taken to be, and everything that was
// found for and against it, in words. The verdict and the Evidence of the
// Process are those of a scan.
type Explanation struct {
	*Process
	// Owner is the one by whose rules it was judged: the owner that the markers
	// name, else the one that a witness connects the process with, else the one
	// that was asked for.
	Owner spec.Owner
	// OwnerUID is the user that the owner's workloads run as.
	OwnerUID int
	// Connected says that a marker or a witness leads to that owner.
	Connected bool
	// For and Against are what was tested and speaks. Unknown is what could not
	// be read; Silent are the witnesses that have nothing to say.
	For, Against, Unknown, Silent []string
}

// Explain reads the process table and tells of one process whose it is and why.
// It needs no controller. It fails with ErrGone where there is no such process.
func Explain(ctx context.Context, pid int, from Viewpoint) (*Explanation, error) {
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
	at := -1
	if pid > 0 && int(int32(pid)) == pid {
		at = find(s.table.rows, int32(pid))
	}
	if at < 0 {
		return nil, fmt.Errorf("cannot explain pid %d: %w", pid, ErrGone)
	}
	j := s.judgementOf(at, &from)
	return s.explain(j, &from)
}

// judgement is what the rules say of one process, seen from one owner.
type judgement struct {
	judge
	by *attribution
	finding
	silent bool // the rules have nothing to say: finding is our own
}

// judgementOf judges a process by the rules of whoever it belongs to, or seems
// to.
func (s *Scanner) judgementOf(at int, from *Viewpoint) *judgement {
	row := &s.table.rows[at]
	named := row.markers().Owner
	judges := from.judges(s.table.rows)
	last := slices.DeleteFunc(slices.Clone(judges), func(j judge) bool { return j.owner == named })
	judges = slices.DeleteFunc(judges, func(j judge) bool { return j.owner != named })
	for _, j := range append(judges, last...) {
		if j.owner == "" {
			continue
		}
		if m := s.judge(at, j); !m.silent && (j.speaksFor(&m.finding, row) || named == from.Owner) {
			return m
		}
	}
	return s.judge(at, from.judge(from.Owner, uint32(from.UID)))
}

func (s *Scanner) judge(at int, j judge) *judgement {
	m := &judgement{judge: j, by: attribute(j.identity, s.table.rows, j.known, nil)}
	i := slices.IndexFunc(m.by.findings, func(f finding) bool { return f.at == at })
	if i >= 0 {
		m.finding = m.by.findings[i]
		return m
	}
	m.silent, m.finding = true, stranger(at, &s.table.rows[at])
	return m
}

// stranger is what is said of a process that no rule has anything to say of.
func stranger(at int, s *sighting) finding {
	f := finding{at: at, verdict: NotOurs}
	switch {
	case s.environ == environBlocked:
		f.verdict, f.basis = CannotTell, blocked
	case !s.environ.readable():
		f.verdict, f.basis = CannotTell, unreadable
	}
	switch {
	case s.dead():
		f.verdict, f.basis = NotOurs, hasEnded
	case refused(s.PID):
		f.verdict, f.basis = NotOurs, f.basis|refusedPID
	}
	return f
}

// explain adds to the facts that decided all others that can be tested.
func (s *Scanner) explain(j *judgement, from *Viewpoint) (*Explanation, error) {
	row := &j.by.table[j.at]
	if row.detail == nil && !s.table.describe(row) {
		return nil, fmt.Errorf("cannot explain pid %d: %w", row.PID, ErrGone)
	}
	p := j.process(row)
	p.Evidence = j.basis.evidence(row, j.by.who, j.group)
	b, tested := j.facts(row)
	sides := b.account(subject{row, j.by.who, j.group}, tested)
	e := &Explanation{
		Process: &p, Owner: j.by.who.owner, OwnerUID: int(j.by.who.uid),
		Connected: !j.silent && (j.group != nil || row.markers().Owner == j.by.who.owner),
		For:       sides[speaksFor], Against: sides[speaksAgainst], Unknown: sides[unclear], Silent: sides[silent],
	}
	if !j.ledger && from.Ledger != nil {
		e.Unknown = append(e.Unknown, j.withoutLedger())
	}
	return e, nil
}

// withoutLedger says what there is no ledger to ask for. Root's alone could tell
// a workload that was started as another user from a copy of its markers.
func (j *judgement) withoutLedger() string {
	text := "there is no ledger of owner " + string(j.owner) + " to ask"
	if j.uid == 0 && j.group == nil && j.basis&(byMarkers|otherUID) == byMarkers|otherUID {
		text += fmt.Sprintf(": nothing tells whether %v was started as uid %d", j.key, j.by.table[j.at].detail.uid)
	}
	return text
}

// facts gives the facts that hold and those that were tested. The tests are
// those of the rules.
func (j *judgement) facts(row *sighting) (holds, tested basis) {
	holds, tested = j.basis, otherUID|otherNamespace|byScope|bySession|byGroup|byDescent
	if row.environ.readable() && !row.dead() {
		_, claims := j.by.who.claims(row.markers())
		holds |= claims
		tested |= noSubproc | noName | otherOwner | noInstance
		if row.markers().Instance == "" {
			holds |= noInstance
		}
	}
	claimed, _ := row.markers().Key()
	holds |= j.by.bounds(row.detail, claimed, j.group)
	if !row.dead() {
		_, connected := j.by.connection(row)
		holds |= connected
	}
	if j.ledger {
		tested |= byLedger
	}
	if j.group != nil {
		tested |= notLeader | otherTick | markedAncestor
		holds |= leadership(j.group, row)
		if j.by.hasAncestor(row, j.group.id) {
			holds |= markedAncestor
		}
	}
	return holds, tested
}
