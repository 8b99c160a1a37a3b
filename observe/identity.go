package observe

import (
	"math"

	"github.com/proc-controller/proc-controller/spec"
)

// identity is whose processes are looked for.
type identity struct {
	owner spec.Owner
	uid   uint32 // of the controller; a spec runs as it unless it names another
	self  int    // our own pid, which is nobody's member
	// users are the uids of the workloads whose manifest names another user.
	users map[spec.Key]uint32
}

// mayRun says that an instance of the key may run as a user, as far as the
// manifests know. The former program may have run as the controller's own user,
// and whoever can act as that needs no forged marker.
func (w *identity) mayRun(key spec.Key, uid uint32) bool {
	if uid == w.uid {
		return true
	}
	named, ok := w.users[key]
	return ok && uid == named
}

// finding is what was concluded of one process.
type finding struct {
	at      int // index in the table
	verdict Verdict
	role    Role
	basis   basis
	group   *gathering // nil where it belongs to no instance
	key     spec.Key   // that it claims
}

// doubtful says that the process cannot be told and yet stands for an instance.
func (f *finding) doubtful() bool { return f.verdict == CannotTell && f.group != nil }

// attribution decides whose the processes of one table are. It is a function
// of its fields alone: nothing is read here.
type attribution struct {
	who    identity
	table  []sighting // sorted by pid
	groups map[spec.Instance]*gathering
	order  []*gathering // groups in the order of their making
	// done marks the processes that are decided; findings says how.
	done     []bool
	findings []finding
	// members are the verified processes, by pid.
	members map[int32]member
	// leaders are the pids that name sessions and groups of an instance.
	leaders    map[int32]*gathering
	leaderPIDs pidSet
	memberPIDs pidSet
	// pending says that something is being started, or was for a while, which
	// is no instance that anybody knows.
	pending bool
	// orphans are handed to us and belong to no instance.
	orphans []finding
	// unreadable counts the processes that no witness connects with us.
	unreadable int
}

type member struct {
	start uint64
	group *gathering
}

// attribute concludes for every process of the table whose it is.
//
// The markers decide first, then what the witnesses know of each instance, then
// the session, the group and the descent of what was verified, until nothing
// more comes of it.
// shown are the instances of the scan before, which count as witnesses of what
// nobody else has a record of.
func attribute(who identity, table []sighting, known []Witness, shown []*Instance) *attribution {
	a := &attribution{
		who: who, table: table, done: make([]bool, len(table)),
		groups:  make(map[spec.Instance]*gathering, len(known)),
		members: make(map[int32]member, len(known)),
		leaders: make(map[int32]*gathering, len(known)),
	}
	for i := range known {
		a.hear(known[i])
	}
	for _, in := range shown {
		a.recall(in)
	}
	for _, g := range a.order {
		a.settleByWitness(g)
	}
	for i := range table {
		a.readMarkers(i)
	}
	for _, g := range a.order {
		a.settle(g)
	}
	a.follow()
	a.rest()
	return a
}

// claim is a process whose markers name this owner and an instance.
type claim struct {
	at    int
	key   spec.Key
	basis basis
}

// readMarkers sorts one process by its markers: into an instance, to nobody of
// ours, or (undone) among those for which only a witness could speak.
func (a *attribution) readMarkers(i int) {
	s := &a.table[i]
	marked := s.environ == environMarked && s.detail != nil
	switch {
	case a.done[i]:
		return
	case s.dead():
		a.done[i] = true
		return
	case refused(s.PID), s.PID == a.who.self:
		a.done[i] = true
		if marked {
			a.conclude(finding{at: i, verdict: NotOurs, basis: selfOrRefused(s.PID)})
		}
		return
	case !marked:
		return
	}
	key, b := a.who.claims(&s.detail.markers)
	if b&byMarkers == 0 {
		if o := s.detail.markers.Owner; o != "" && o != a.who.owner {
			a.conclude(finding{at: i, verdict: NotOurs, basis: b, key: key})
		}
		return
	}
	if b&noInstance == 0 {
		g := a.group(s.detail.markers.Instance)
		g.claims = append(g.claims, claim{i, key, b | a.bounds(s.detail, key, g)})
	}
}

// claims says what the markers say: byMarkers, or what is missing.
func (w identity) claims(m *spec.Markers) (spec.Key, basis) {
	key, named := m.Key()
	var b basis
	if !m.Subprocess {
		b |= noSubproc
	}
	if !named {
		b |= noName
	}
	if m.Owner != w.owner || m.Owner == "" {
		b |= otherOwner
	}
	if b != 0 {
		return key, b
	}
	if m.Instance == "" {
		return key, byMarkers | noInstance
	}
	return key, byMarkers
}

// bounds tests what binds a process that is known by its markers alone: which
// anybody can copy. The uid has to be the one that the instance was started as,
// or, where nobody knows of the instance, one that its manifest allows.
func (a *attribution) bounds(d *detail, key spec.Key, g *gathering) basis {
	var b basis
	allowed := d.uid == d.euid
	if g != nil && g.witness.ID != "" {
		allowed = allowed && d.uid == a.who.uidOf(&g.witness)
	} else {
		allowed = allowed && a.who.mayRun(key, d.uid)
	}
	if !allowed {
		b |= otherUID
	}
	if d.setID {
		b |= setID
	}
	if d.nested {
		b |= otherNamespace
	}
	return b
}

// uidOf is the uid that a witnessed instance was started as.
func (w *identity) uidOf(by *Witness) uint32 {
	if by.UID != 0 {
		return by.UID
	}
	return w.uid
}

// refused says that no child can have this pid.
func refused(pid int) bool { return pid <= 1 || pid > math.MaxInt32 }

func selfOrRefused(pid int) basis {
	if refused(pid) {
		return refusedPID
	}
	return isSelf
}

// conclude notes the decision on one process; it is made once.
func (a *attribution) conclude(f finding) {
	a.done[f.at] = true
	a.findings = append(a.findings, f)
	if f.verdict != Ours || f.group == nil {
		return
	}
	s := &a.table[f.at]
	a.members[int32(s.PID)] = member{s.Start, f.group}
	a.memberPIDs.add(int32(s.PID))
	if last := int32(f.group.last.PID); last != 0 && (s.sid == last || s.pgid == last) {
		f.group.anchored = true
	}
}

// rest decides the processes for which nobody spoke.
func (a *attribution) rest() {
	for i := range a.table {
		if a.done[i] {
			continue
		}
		s := &a.table[i]
		switch s.environ {
		case environDenied, environBlocked:
			a.unreadable++
		case environMarked:
			a.conclude(a.unwitnessed(i))
		}
	}
}

// unwitnessed decides a process by its markers alone, after all else failed.
func (a *attribution) unwitnessed(i int) finding {
	d := a.table[i].detail
	key, b := a.who.claims(&d.markers)
	f := finding{at: i, verdict: NotOurs, basis: b, key: key}
	if b&byMarkers == 0 {
		return f
	}
	f.basis |= a.bounds(d, key, a.groups[d.markers.Instance])
	if f.basis&unbound != 0 {
		return f
	}
	if b&noInstance != 0 {
		f.verdict = Ours
		return f
	}
	f.verdict, f.basis = CannotTell, f.basis|otherKey
	return f
}

// pidSet is a set of pids that may answer yes for one that is not in it. It
// spares strangers the look-up in a map.
type pidSet [1024]uint64

func (p *pidSet) add(pid int32)      { p[uint16(pid)>>6] |= 1 << (pid & 63) }
func (p *pidSet) has(pid int32) bool { return p[uint16(pid)>>6]&(1<<(pid&63)) != 0 }
