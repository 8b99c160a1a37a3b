package observe

import (
	"fmt"

	"github.com/proc-controller/proc-controller/spec"
)

// side is what a fact does for the belief that a process is ours.
type side uint8

const (
	speaksFor side = iota
	speaksAgainst
	unclear // something could not be read
	silent  // a witness that has nothing to say
)

// fact is one bit of a basis: whom it speaks for, and in what words. Where a
// fact was tested and does not hold, its opposite may speak: for the other side,
// or, of a witness, for none.
type fact struct {
	bit      basis
	side     side
	words    func(subject) string
	opposite func(subject) string // nil where its absence says nothing
	other    side                 // that opposite is on
}

// facts are all of them, in the order in which they are told.
var facts = []fact{
	{bit: refusedPID, side: speaksAgainst, words: said("a pid that no child can have")},
	{bit: isSelf, side: speaksAgainst, words: said("this is the controller itself")},
	{bit: hasEnded, side: speaksAgainst, words: said("it has ended, and was not reaped yet: nothing of it runs")},
	{bit: byMarkers, side: speaksFor, words: said("the markers name this owner, the workload and the instance")},
	{
		bit: noSubproc, side: speaksAgainst, words: said(spec.EnvSubprocess + " is missing or not 1"),
		opposite: said(spec.EnvSubprocess + " is 1"), other: speaksFor,
	},
	{
		bit: noName, side: speaksAgainst, words: said("there must be exactly one of " + spec.EnvAgentName + " and " + spec.EnvMCPService),
		opposite: subject.nameOpposite, other: speaksFor,
	},
	{bit: otherOwner, side: speaksAgainst, words: subject.ownerWords, opposite: subject.ownerOpposite, other: speaksFor},
	{
		bit: noInstance, side: speaksAgainst, words: said(spec.EnvInstance + " is missing: it belongs to no instance"),
		opposite: subject.instanceOpposite, other: speaksFor,
	},
	{bit: otherUID, side: speaksAgainst, words: subject.uidWords, opposite: subject.uidOpposite, other: speaksFor},
	{bit: setID, side: speaksAgainst, words: said("began as a set-user-ID program of root: whoever ran it chose its environment")},
	{
		bit: otherNamespace, side: speaksAgainst, words: said("lives in another PID namespace"),
		opposite: said("lives in this PID namespace"), other: speaksFor,
	},
	{bit: otherKey, side: speaksAgainst, words: subject.keyWords},
	{bit: otherInstance, side: speaksAgainst, words: subject.instanceWords},
	{bit: severalMains, side: speaksAgainst, words: said("several processes could be the main one of this instance")},
	{bit: unreadable, side: unclear, words: said("its environment cannot be read")},
	{bit: blocked, side: unclear, words: said("reading it does not come back")},
	{bit: leads, side: speaksFor, words: said("session leader with the start tick of the instance")},
	{
		bit: notLeader, side: speaksAgainst, words: subject.notLeaderWords,
		opposite: said("it leads its session"), other: speaksFor,
	},
	{bit: otherTick, side: speaksAgainst, words: subject.tickWords, opposite: subject.tickOpposite, other: speaksFor},
	{
		bit: markedAncestor, side: speaksAgainst, words: said("not the main process: one above it carries the markers of the same instance"),
		opposite: said("no process above it carries the markers of the instance"), other: speaksFor,
	},
	{bit: byHandle, side: speaksFor, words: said("a handle has been held since it was spawned")},
	{
		bit: byLedger, side: speaksFor, words: said("pid and start tick stand in the ledger of this boot"),
		opposite: said("the ledger does not name it"), other: silent,
	},
	{
		bit: byScope, side: speaksFor, words: said("lives in the instance's scope"),
		opposite: said("its cgroup is no scope of an instance"), other: silent,
	},
	{
		bit: bySession, side: speaksFor, words: said("in the session of the main process"),
		opposite: said("not in the session of a verified main process"), other: silent,
	},
	{
		bit: byGroup, side: speaksFor, words: said("in the process group of the main process"),
		opposite: said("not in the process group of a verified main process"), other: silent,
	},
	{
		bit: byDescent, side: speaksFor, words: said("descends from a verified member"),
		opposite: said("its parent is no verified member"), other: silent,
	},
	{bit: byMemory, side: speaksFor, words: said("verified by an earlier scan")},
	{bit: byRoll, side: speaksFor, words: said("was a child of the controller, not reaped yet, when that died")},
	{bit: byHeld, side: speaksFor, words: said("began while the main process had not been reaped")},
	{bit: unproven, side: unclear, words: said("the session or group could be a later one with the same number")},
	{bit: reparented, side: unclear, words: said("was left to the controller by its parent")},
	{bit: soleOrigin, side: speaksFor, words: said("no other instance can have been its origin")},
	{bit: severalOrigins, side: unclear, words: said("nothing tells which instance was its origin")},
	{bit: broughtAlong, side: unclear, words: said("is a child of the controller that is older than all that it has started")},
}

// sums are facts that others tell in more detail.
const sums = byMarkers | leads

// account sorts a basis by sides, in words. What was tested and does not hold
// speaks by its opposite.
func (b basis) account(about subject, tested basis) (sides [silent + 1][]string) {
	for i := range facts {
		f := &facts[i]
		switch {
		case f.bit&sums != 0:
		case b&f.bit != 0:
			sides[f.side] = append(sides[f.side], f.words(about))
		case tested&f.bit != 0 && f.opposite != nil:
			sides[f.other] = append(sides[f.other], f.opposite(about))
		}
	}
	return sides
}

func (s subject) ownerOpposite() string {
	return fmt.Sprintf("%s is %q", spec.EnvOwner, s.markers().Owner)
}

func (s subject) nameOpposite() string {
	key, _ := s.markers().Key()
	return fmt.Sprintf("%s is %q, and it is the only name: %s", key.NameVar(), key.Name, key)
}

func (s subject) instanceOpposite() string {
	return fmt.Sprintf("%s is %q", spec.EnvInstance, s.markers().Instance)
}

func (s subject) uidOpposite() string {
	return fmt.Sprintf("runs as uid %d (effective %d), as the workloads of its owner do", s.detail.uid, s.detail.euid)
}

func (s subject) notLeaderWords() string {
	return fmt.Sprintf("not the main process: its session is led by pid %d", s.sid)
}

func (s subject) tickWords() string {
	tick, ok := s.group.id.Tick()
	if !ok {
		return "not the main process: the instance has no start tick"
	}
	return fmt.Sprintf("not the main process: it started at tick %d, the instance at %d", s.Start, tick)
}

func (s subject) tickOpposite() string {
	tick, _ := s.group.id.Tick()
	return fmt.Sprintf("it started at tick %d, the instance at %d", s.Start, tick)
}
