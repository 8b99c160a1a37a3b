package observe

import "github.com/proc-controller/proc-controller/spec"

// Claim is what a caller takes one process for, with what it knows beside the
// environment of that process.
type Claim struct {
	Owner    spec.Owner
	UID      int // that the spec runs as
	Key      spec.Key
	Instance spec.Instance
	// Main is the main process of the instance, alive or not; zero where it is
	// not known.
	Main Ident
	// Handle says that a handle on Main has been held since the spawn, or since
	// it was verified.
	Handle bool
	// Verified says that a scan has found this very process, by pid and start
	// tick, to be ours. A member that has cleared its environment and left
	// group and session is known by nothing else.
	Verified bool
	// Orphan says that the process belongs to no instance and was handed to us
	// by its parent. That it is our child proves it.
	Orphan bool
}

// Confirm tells whether a process is still what it is taken for. It reads the
// process anew and applies the rules of a scan. Call it with a handle on the
// process open, and check afterwards that the handle is alive: then what was
// read is what the handle names. Only Ours may be signalled.
func Confirm(id Ident, c Claim) (Verdict, []string) {
	rows, err := sightingsOf(id.PID, c.Main.PID)
	if err != nil {
		return CannotTell, []string{err.Error()}
	}
	at := find(rows, int32(id.PID))
	switch {
	case at < 0:
		return NotOurs, []string{ErrGone.Error()}
	case rows[at].Ident != id:
		return NotOurs, []string{"the pid is another process's now: " + rows[at].Ident.String()}
	case rows[at].dead():
		return NotOurs, []string{"it has ended"}
	}
	return c.judge(rows, at)
}

// judge decides the process of one row; the table holds it and, if it is
// there, the main process.
func (c *Claim) judge(rows []sighting, at int) (Verdict, []string) {
	if c.Orphan {
		return c.judgeOrphan(&rows[at])
	}
	who := identity{owner: c.Owner, uid: uint32(c.UID), self: ownPID()}
	w := Witness{Key: c.Key, ID: c.Instance, Main: c.Main, Handle: c.Handle}
	if c.Verified {
		rows[at].memory = &memory{prior: c.Instance}
	}
	a := attribute(who, rows, []Witness{w}, nil)
	for _, f := range a.findings {
		if f.at != at {
			continue
		}
		words := append([]string{"start tick read again"}, f.basis.evidence(&rows[at], who, f.group)...)
		if f.group == nil || f.group.id != c.Instance {
			return min(f.verdict, NotOurs), append(words, "nothing connects it with instance "+string(c.Instance))
		}
		return f.verdict, words
	}
	return CannotTell, []string{"nothing connects it with instance " + string(c.Instance)}
}

// judgeOrphan decides a process that a scan has found among our children: it is
// still one, and has not turned out to be another owner's.
func (c *Claim) judgeOrphan(s *sighting) (Verdict, []string) {
	words := []string{"start tick read again"}
	switch m := s.markers(); {
	case int(s.ppid) != ownPID():
		return CannotTell, append(words, "it is no child of the controller")
	case m.Owner != "" && m.Owner != c.Owner:
		return NotOurs, append(words, ownerEvidence(m.Owner, c.Owner))
	}
	return Ours, append(words, reparented.evidence(s, identity{}, nil)...)
}
