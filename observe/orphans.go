package observe

// parenthood is what tells the orphans that were handed to us from the children
// that we have forked ourselves.
type parenthood struct {
	self int
	// since is the tick at which we began to spawn: a child that is older came
	// with us through an execve(2), and is nobody's orphan.
	since uint64
	// spawned says that a child is one that was forked on purpose; nil where
	// nobody can say.
	spawned func(pid int) bool
	// goneUntil is the tick at which an instance was last seen to be gone: what
	// started before may have come from it.
	goneUntil uint64
}

// claimOrphans decides the children of ours that nobody has spoken for: what
// descendants of our own children abandoned, and the kernel handed to us. That
// it is ours to end is certain, because nothing else becomes our child; whose
// it is, only where a single instance can have been its origin.
func (a *attribution) claimOrphans(p *parenthood) {
	if p == nil {
		return
	}
	claimed := false
	for i := range a.table {
		if !a.isOrphan(i, p) {
			continue
		}
		if g := a.soleOrigin(&a.table[i], p); g != nil {
			claimed = true
			a.conclude(finding{at: i, verdict: Ours, role: Descendant, basis: reparented | soleOrigin, group: g, key: g.key})
		}
	}
	if claimed {
		a.follow()
	}
	for i := range a.table {
		if a.isOrphan(i, p) {
			f := finding{at: i, verdict: Ours, basis: reparented | severalOrigins}
			if !p.bore(&a.table[i]) {
				f.verdict, f.basis = CannotTell, broughtAlong
			}
			a.done[i] = true
			a.orphans = append(a.orphans, f)
		}
	}
}

// isOrphan says that a process is a child of ours that nobody has spoken for.
// What is in our own session never came from a workload: each has its own, and
// none can go back.
func (a *attribution) isOrphan(i int, p *parenthood) bool {
	s := &a.table[i]
	if int(s.ppid) != p.self || a.done[i] || !s.environ.readable() || s.Start == 0 {
		return false
	}
	if self := find(a.table, int32(p.self)); self >= 0 && a.table[self].sid == s.sid {
		return false
	}
	if p.spawned == nil {
		return s.settled // a young one may be a start that is under way
	}
	return !p.spawned(s.PID)
}

// bore says that a process began after we did. In one tick with us it may have
// come before.
func (p *parenthood) bore(s *sighting) bool { return s.Start > p.since }

// soleOrigin finds the one instance that a process can have come from, or nil
// where it can be several, or one that nobody knows any more or knows yet.
func (a *attribution) soleOrigin(s *sighting, p *parenthood) *gathering {
	if !p.bore(s) || a.pending || s.Start <= p.goneUntil {
		return nil
	}
	var origin *gathering
	for _, g := range a.order {
		if !a.canBear(g, s, p) {
			continue
		}
		if origin != nil {
			return nil
		}
		origin = g
	}
	if origin == nil || origin.key.Name == "" {
		return nil
	}
	return origin
}

// canBear says that a process can have come from an instance: it is no older,
// and what the main process of it leaves behind is handed to us.
func (a *attribution) canBear(g *gathering, s *sighting, p *parenthood) bool {
	if tick, ok := g.id.Tick(); ok && tick > s.Start {
		return false
	}
	return g.main < 0 || int(a.table[g.main].ppid) == p.self
}

// remember keeps the instances of a scan, and notes when one is not there any
// more.
func (s *Scanner) remember(a *attribution) {
	for id := range s.groups {
		if a.groups[id] == nil {
			s.parent.goneUntil = BootTick()
			break
		}
	}
	s.groups = a.groups
}
