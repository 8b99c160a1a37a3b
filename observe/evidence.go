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
	byHeld    // began while the pid of the main process was still its own
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
	soleOrigin
	severalOrigins
	broughtAlong
)

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
		words = append(words, fmt.Sprintf("runs as uid %d (effective %d), not as %d", s.detail.uid, s.detail.euid, who.uid))
	}
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
	add(byHeld, "began while the main process had not been reaped")
	add(unproven, "the session or group could be a later one with the same number")
	add(reparented, "was left to the controller by its parent")
	add(soleOrigin, "no other instance can have been its origin")
	add(severalOrigins, "nothing tells which instance was its origin")
	add(broughtAlong, "is a child of the controller that is older than all that it has started")
	return words
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
