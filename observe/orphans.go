package observe

import "github.com/proc-controller/proc-controller/spec"

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
	// empty says of an instance that nothing was left of it at that tick: what
	// started later never came from it. goneUntil is the last of those ticks of
	// instances that nobody knows any more.
	empty     map[spec.Instance]uint64
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
	claimed := a.vouch(p)
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
			a.done[i] = true
			a.orphans = append(a.orphans, a.unattributed(i, p))
		}
	}
}

// vouch decides anew what speaks for an instance but is not proven by itself:
// markers of a process in another namespace or of another user, the number of a
// session or group whose leader is gone. That it was handed to us proves that it
// descends from what we have started, and so the rest can be believed.
func (a *attribution) vouch(p *parenthood) (changed bool) {
	for n := range a.findings {
		f := &a.findings[n]
		g := f.group
		switch {
		case f.verdict == CannotTell && f.basis&unproven != 0 && f.basis&(otherInstance|otherKey|blocked|unreadable) == 0:
		case f.verdict == NotOurs && f.basis&byMarkers != 0 && f.basis&(otherUID|otherNamespace) != 0:
			g = a.groups[a.table[f.at].markers().Instance]
		default:
			continue
		}
		s := &a.table[f.at]
		if g == nil || g.key != f.key || g.key.Name == "" || !a.handedOver(s, p) || !p.bore(s) {
			continue
		}
		f.verdict, f.role, f.group = Ours, Descendant, g
		f.basis = f.basis&^unproven | reparented
		a.members[int32(s.PID)] = member{s.Start, g}
		a.memberPIDs.add(int32(s.PID))
		changed = true
	}
	return changed
}

// unattributed decides an orphan that several instances can have borne.
func (a *attribution) unattributed(i int, p *parenthood) finding {
	f := finding{at: i, verdict: Ours, basis: reparented | severalOrigins}
	switch s := &a.table[i]; {
	case !p.bore(s):
		f.verdict, f.basis = CannotTell, broughtAlong
	case !s.environ.readable():
		f.verdict, f.basis = CannotTell, reparented|unreadable
		a.unreadable--
	}
	return f
}

// isOrphan says that a process is a child of ours that nobody has spoken for.
func (a *attribution) isOrphan(i int, p *parenthood) bool {
	return !a.done[i] && a.handedOver(&a.table[i], p)
}

// handedOver says that a process is a child of ours that we have not forked.
// What is in our own session never came from a workload: each has its own, and
// none can go back.
func (a *attribution) handedOver(s *sighting, p *parenthood) bool {
	if int(s.ppid) != p.self || s.Start == 0 {
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
	if !p.bore(s) || !s.environ.readable() || a.pending || s.Start <= p.goneUntil {
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
	if at, ok := p.empty[g.id]; ok && s.Start > at {
		return false
	}
	return g.main < 0 || int(a.table[g.main].ppid) == p.self
}

// remember notes which instances nothing was left of when this scan began, and
// which ones nobody knows any more. An orphan of nobody known may be what is
// left of any of them, so then nothing is.
func (p *parenthood) remember(a *attribution, before map[spec.Instance]*gathering, began uint64) {
	occupied := map[*gathering]bool{}
	for i := range a.findings {
		occupied[a.findings[i].group] = true
	}
	for _, g := range a.order {
		if occupied[g] || len(a.orphans) > 0 {
			delete(p.empty, g.id)
		} else if _, noted := p.empty[g.id]; !noted {
			p.empty[g.id] = began
		}
	}
	for id := range before {
		if a.groups[id] != nil {
			continue
		}
		at, ok := p.empty[id]
		if !ok {
			at = BootTick()
		}
		p.goneUntil = max(p.goneUntil, at)
		delete(p.empty, id)
	}
}
