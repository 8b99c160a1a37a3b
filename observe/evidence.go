package observe

import (
	"fmt"

	"github.com/proc-controller/proc-controller/spec"
)

// basis is the set of facts that a verdict rests on. Scans compare it to see
// whether anything has changed; words are made of it only then.
type basis uint64

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
	byRoll    // the main process, by the list of those children that were not reaped
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
	hasEnded
	notLeader // what follows speaks against its being the main process
	otherTick
	markedAncestor
	setID
)

// unbound are the facts that a process which is known by its markers alone must
// not have.
const unbound = otherUID | otherNamespace | setID

// subject is the process that facts are told of.
type subject struct {
	*sighting
	who   identity
	group *gathering // nil where it belongs to no instance
}

// evidence puts a basis into words.
func (b basis) evidence(s *sighting, who identity, g *gathering) []string {
	about := subject{s, who, g}
	var words []string
	for i := range facts {
		if f := &facts[i]; b&f.bit != 0 {
			words = append(words, f.words(about))
		}
	}
	return words
}

// said are words that are the same for every process.
func said(text string) func(subject) string { return func(subject) string { return text } }

func (s subject) ownerWords() string { return ownerEvidence(s.markers().Owner, s.who.owner) }

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

func ownerEvidence(has, want spec.Owner) string {
	if has == "" {
		return spec.EnvOwner + " is missing"
	}
	return fmt.Sprintf("%s is %q, not %q", spec.EnvOwner, has, want)
}

func (s subject) uidWords() string {
	return fmt.Sprintf("runs as uid %d (effective %d), not as %d", s.detail.uid, s.detail.euid, s.who.expected(s.markers(), s.group))
}

func (s subject) keyWords() string {
	if s.group == nil || s.group.key == (spec.Key{}) {
		return "the processes of its instance name different workloads"
	}
	return fmt.Sprintf("its instance is known to belong to %s", s.group.key)
}

func (s subject) instanceWords() string {
	m := s.markers()
	return fmt.Sprintf("its markers name another instance: %q of owner %q", m.Instance, m.Owner)
}
