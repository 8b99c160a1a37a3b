package observe

import (
	"fmt"

	"github.com/proc-controller/proc-controller/spec"
)

// basis is the set of facts that a verdict rests on. Scans compare it to see
// whether anything has changed; words are made of it only then.
type basis uint32

// Facts for and against.
const (
	byMarkers basis = 1 << iota
	byHandle
	byLedger
	byScope
	bySession
	byGroup
	byDescent
	byMemory
	leads     // session leader with the start tick of the instance
	noSubproc // the rest speaks against
	noName
	otherOwner
	noInstance
	otherUID
	otherNamespace
	otherKey
	otherInstance
	severalMains
	unreadable
	blocked
	isSelf
	refusedPID
	unproven // the witness may speak of an earlier bearer of the same number
	reparented
	setID
)

// unbound are the facts that a process which is known by its markers alone must
// not have.
const unbound = otherUID | otherNamespace | setID

// evidence puts a basis into words.
func (b basis) evidence(s *sighting, who identity, g *gathering) []string {
	m := s.markers()
	var words []string
	add := func(fact basis, text string) {
		if b&fact != 0 {
			words = append(words, text)
		}
	}
	add(refusedPID, "a pid that no child can have")
	add(isSelf, "this is the controller itself")
	add(byMarkers, "the markers name this owner, the workload and the instance")
	add(noSubproc, spec.EnvSubprocess+" is missing or not 1")
	add(noName, "there must be exactly one of "+spec.EnvAgentName+" and "+spec.EnvMCPService)
	if b&otherOwner != 0 {
		words = append(words, ownerEvidence(m.Owner, who.owner))
	}
	add(noInstance, spec.EnvInstance+" is missing: it belongs to no instance")
	if b&otherUID != 0 {
		words = append(words, fmt.Sprintf("runs as uid %d (effective %d), not as %d", s.detail.uid, s.detail.euid, who.expected(m, g)))
	}
	add(setID, "began as a set-user-ID program of root: whoever ran it chose its environment")
	add(otherNamespace, "lives in another PID namespace")
	if b&otherKey != 0 {
		words = append(words, keyEvidence(g))
	}
	if b&otherInstance != 0 {
		words = append(words, fmt.Sprintf("its markers name another instance: %q of owner %q", m.Instance, m.Owner))
	}
	add(severalMains, "several processes could be the main one of this instance")
	add(unreadable, "its environment cannot be read")
	add(blocked, "reading it does not come back")
	add(leads, "session leader with the start tick of the instance")
	add(byHandle, "a handle has been held since it was spawned")
	add(byLedger, "pid and start tick stand in the ledger of this boot")
	add(byScope, "lives in the instance's scope")
	add(bySession, "in the session of the main process")
	add(byGroup, "in the process group of the main process")
	add(byDescent, "descends from a verified member")
	add(byMemory, "verified by an earlier scan")
	add(unproven, "the session or group could be a later one with the same number")
	add(reparented, "was left to the controller by its parent, and nothing tells whose it is")
	return words
}

// expected is the uid that a process would have to run as, for a person.
func (w *identity) expected(m *spec.Markers, g *gathering) uint32 {
	if g != nil && g.witness.ID != "" {
		return w.uidOf(&g.witness)
	}
	key, _ := m.Key()
	if uid, ok := w.users[key]; ok {
		return uid
	}
	return w.uid
}

func keyEvidence(g *gathering) string {
	if g == nil || g.key == (spec.Key{}) {
		return "the processes of its instance name different workloads"
	}
	return fmt.Sprintf("its instance is known to belong to %s", g.key)
}

func ownerEvidence(has, want spec.Owner) string {
	if has == "" {
		return spec.EnvOwner + " is missing"
	}
	return fmt.Sprintf("%s is %q, not %q", spec.EnvOwner, has, want)
}
