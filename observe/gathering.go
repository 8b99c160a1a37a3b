package observe

import "github.com/proc-controller/proc-controller/spec"

// gathering is all that one table has to say of one instance.
type gathering struct {
	id      spec.Instance
	witness Witness   // zero where nobody knows of it
	heard   bool      // witness is set by one who knows, not by memory
	shown   *Instance // by the scan before; nil if it was not known
	// key is the workload that the instance is known to belong to; zero while
	// nothing says so, or while its processes contradict each other.
	key    spec.Key
	claims []claim
	main   int   // index of the verified main process, or -1
	last   Ident // the main process, alive or not; zero if it is not known
	// anchored says that the pid of the main process has been in use ever
	// since, as the main process or as session or group of a verified member.
	// A number in use is given to nobody else.
	anchored bool
}

// group gives the gathering of an instance, and makes it where there is none.
func (a *attribution) group(id spec.Instance) *gathering {
	g := a.groups[id]
	if g == nil {
		g = &gathering{id: id, main: -1}
		a.groups[id] = g
		a.order = append(a.order, g)
	}
	return g
}

// hear takes in one witness. Of two for one instance a handle counts more.
func (a *attribution) hear(w Witness) {
	if w.ID == "" {
		a.pending = a.pending || w.User == ""
		return
	}
	g := a.group(w.ID)
	if g.heard && g.witness.Handle && !w.Handle {
		return
	}
	g.witness, g.heard = w, true
	g.key, g.last = w.Key, w.Main
}

// recall takes in what an earlier scan has shown of an instance.
func (a *attribution) recall(in *Instance) {
	g := a.group(in.ID)
	g.shown = in
	if !g.heard && !in.LastMain.IsZero() {
		g.witness = Witness{
			Key: in.Key, ID: in.ID, UID: in.UID, Hash: in.Hash, OnExit: in.OnExit, Main: in.LastMain,
			Ports: in.Ports, StartedAt: in.StartedAt, Scope: in.Scope, Log: in.Log,
		}
		g.key, g.last = in.Key, in.LastMain
	}
}

// settle finds the main process and the key of an instance, and decides the
// processes whose markers name it.
func (a *attribution) settle(g *gathering) {
	if g.last.IsZero() {
		a.settleByTick(g)
	}
	if g.key == (spec.Key{}) {
		g.key = unanimous(g.claims)
	}
	for _, c := range g.claims {
		if a.done[c.at] || g.key == (spec.Key{}) || c.key != g.key || c.basis&unbound != 0 {
			continue // a witness may still speak for it
		}
		a.conclude(finding{at: c.at, verdict: Ours, role: Descendant, basis: c.basis, group: g, key: c.key})
	}
}

// settleByWitness takes the main process from the witness, which is exact.
func (a *attribution) settleByWitness(g *gathering) {
	i := find(a.table, int32(g.last.PID))
	if i < 0 || a.done[i] || a.table[i].Ident != g.last || refused(g.last.PID) || g.last.PID == a.who.self {
		return
	}
	s := &a.table[i]
	if s.dead() {
		g.anchored = true // a zombie keeps its number
		return
	}
	if s.detail != nil && s.detail.nested {
		return
	}
	f := finding{at: i, verdict: Ours, role: Main, basis: g.mainBasis(s), group: g, key: g.key}
	against := a.contradiction(s, g)
	f.basis |= against
	if against&^byMarkers != 0 && !g.witness.Handle {
		f.verdict, f.role = CannotTell, NoRole
	} else {
		g.main, g.anchored = i, true
	}
	a.conclude(f)
}

// mainBasis is what the witness is that names the main process. Where it is but
// our own memory, the facts are those of the time when it was verified.
func (g *gathering) mainBasis(s *sighting) basis {
	switch {
	case g.witness.Handle:
		return byHandle
	case g.witness.Ledger:
		return byLedger
	case g.witness.HeldUntil > 0:
		return byRoll
	case s.memory != nil && s.memory.shown != nil && s.memory.shown.Role == Main:
		return s.memory.basis &^ byMarkers
	}
	return byMemory
}

// contradiction says what the environment of a witnessed main process has
// against it. Markers that are gone are nothing: programs overwrite them.
func (a *attribution) contradiction(s *sighting, g *gathering) basis {
	switch s.environ {
	case environNotRead, environDenied:
		return unreadable
	case environBlocked:
		return blocked
	case environMarked:
	default:
		return 0
	}
	m := s.markers()
	key, b := a.who.claims(m)
	switch {
	case m.Owner != "" && m.Owner != a.who.owner, m.Instance != "" && m.Instance != g.id:
		return otherInstance
	case b&byMarkers == 0:
		return 0
	case key != g.key:
		return otherKey
	}
	return b
}

// settleByTick finds the main process where only markers speak: the session
// leader that started with the instance, descends from none of it, and is its
// oldest process, since whatever else is of it was forked later.
func (a *attribution) settleByTick(g *gathering) {
	oldest, several := a.oldest(g)
	if oldest == nil || !a.mayLead(g, *oldest) {
		return
	}
	if several {
		for _, c := range g.claims {
			a.conclude(finding{at: c.at, verdict: CannotTell, basis: c.basis | severalMains, group: g, key: c.key})
		}
		return
	}
	if g.key == (spec.Key{}) {
		g.key = oldest.key
	}
	if oldest.key == g.key {
		g.main, g.last, g.anchored = oldest.at, a.table[oldest.at].Ident, true
		a.conclude(finding{
			at: oldest.at, verdict: Ours, role: Main,
			basis: oldest.basis | leads, group: g, key: oldest.key,
		})
	}
}

// oldest gives the process of an instance that was forked first. Several says
// that another one that may lead can have been forked before.
func (a *attribution) oldest(g *gathering) (first *claim, several bool) {
	tick, ok := g.id.Tick()
	for i := range g.claims {
		c := &g.claims[i]
		if !ok || c.basis&(otherUID|otherNamespace) != 0 || a.table[c.at].Start < tick {
			continue // no process of the instance is older than its name
		}
		if first == nil || forkedBefore(&a.table[c.at], &a.table[first.at]) {
			first = c
		}
	}
	for i := range g.claims {
		c := &g.claims[i]
		if first == nil || c.at == first.at || !a.mayLead(g, *c) {
			continue
		}
		if s, f := &a.table[c.at], &a.table[first.at]; s.Start == f.Start && s.PID-f.PID > maxPIDsOfTick {
			several = true
		}
	}
	return first, several
}

// forkedBefore orders two processes by their forks. Pids are given out in
// ascending order, so within one tick the smaller one came first, unless the
// numbers began anew between the two.
func forkedBefore(a, b *sighting) bool {
	return a.Start < b.Start || a.Start == b.Start && a.PID < b.PID
}

// maxPIDsOfTick is more than the pids that are given out within one tick: two
// that are further apart lie on both sides of the end of the numbers.
const maxPIDsOfTick = 1000

// mayLead says that a process could be the main one.
func (a *attribution) mayLead(g *gathering, c claim) bool {
	s := &a.table[c.at]
	return c.basis&unbound == 0 && leadership(g, s) == 0 && !a.hasAncestor(s, g.id)
}

// leadership says what stands against a process being the session leader that
// was started as the instance.
func leadership(g *gathering, s *sighting) (b basis) {
	if int(s.sid) != s.PID {
		b |= notLeader
	}
	if tick, ok := g.id.Tick(); !ok || s.Start < tick || s.Start-tick > maxStartTicks {
		b |= otherTick
	}
	return b
}

// maxDepth bounds every walk along parents.
const maxDepth = 256

// hasAncestor says that a process above s is marked with the instance.
func (a *attribution) hasAncestor(s *sighting, id spec.Instance) bool {
	for range maxDepth {
		i := find(a.table, s.ppid)
		if i < 0 {
			return false
		}
		s = &a.table[i]
		if m := s.markers(); m.Instance == id && m.Owner == a.who.owner {
			return true
		}
	}
	return false
}

// runsAs tells as whom an instance was started that nobody else knows of: what
// its markers alone have proven runs as a user that its manifest allows. The
// controller's own is 0, as in Instance.UID.
func (a *attribution) runsAs(g *gathering) uint32 {
	for _, c := range g.claims {
		uid := a.table[c.at].detail.uid
		if c.basis&unbound == 0 && uid != a.who.uid && (g.main < 0 || g.main == c.at) {
			return uid
		}
	}
	return 0
}

// unanimous gives the key that all claims agree on, if they do.
func unanimous(claims []claim) spec.Key {
	var key spec.Key
	for i, c := range claims {
		if i > 0 && c.key != key {
			return spec.Key{}
		}
		key = c.key
	}
	return key
}
