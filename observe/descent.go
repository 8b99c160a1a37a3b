package observe

import "github.com/proc-controller/proc-controller/spec"

// follow decides the processes that are known by what they belong to: the
// session, the group, the scope or the parent of what is verified. Each round
// may verify parents of further ones, so it goes on until one brings nothing.
//
// What hangs on a number that nothing has proven comes last: a later round may
// still prove it.
func (a *attribution) follow() {
	a.listLeaders()
	for range maxDepth {
		if !a.followAll(false) {
			break
		}
	}
	a.followAll(true)
}

// followAll makes one round and says whether it brought anything.
func (a *attribution) followAll(unprovenToo bool) bool {
	before := len(a.findings)
	for i := range a.table {
		if !a.done[i] {
			a.followOne(i, unprovenToo)
		}
	}
	return len(a.findings) > before
}

// listLeaders collects the numbers that name sessions and groups of ours. The
// number of a main process that is gone counts unless another bears it now.
func (a *attribution) listLeaders() {
	for _, g := range a.order {
		pid := int32(g.last.PID)
		if pid <= 1 || a.leaders[pid] != nil {
			continue
		}
		if i := find(a.table, pid); g.main < 0 && i >= 0 && a.table[i].Ident != g.last {
			continue
		}
		a.leaders[pid] = g
		a.leaderPIDs.add(pid)
	}
}

// followOne decides one process if a witness connects it with an instance.
func (a *attribution) followOne(i int, unprovenToo bool) {
	s := &a.table[i]
	g, b := a.connection(s)
	if g == nil {
		return
	}
	if !g.anchored && b&bySession != 0 && s.Start <= g.witness.HeldUntil {
		b |= byHeld
	}
	if !g.anchored && b&^(bySession|byGroup) == 0 {
		if !unprovenToo {
			return
		}
		b |= unproven
	}
	f := finding{at: i, verdict: Ours, role: Descendant, group: g, key: g.key}
	f.basis = b | a.objections(s, g)
	if f.basis&(otherInstance|otherKey|blocked|unreadable|unproven) != 0 {
		f.verdict, f.role = CannotTell, NoRole
	}
	if g.key == (spec.Key{}) {
		// Nothing says which workload the instance is one of: a scope carries
		// no more than owner and instance.
		f.verdict, f.role, f.group = CannotTell, NoRole, nil
	}
	a.conclude(f)
}

// objections says what the environment of a process has for and against its
// belonging to g. Incomplete markers are nothing: programs drop them.
func (a *attribution) objections(s *sighting, g *gathering) basis {
	b := a.contradiction(s, g)
	if b&(byMarkers|otherKey) != 0 {
		b |= a.bounds(s.detail, g.key, g)
	}
	return b
}

// connection finds the instance that a process is connected with, and every
// witness that says so. What an earlier scan has concluded speaks where nothing
// else does any more.
func (a *attribution) connection(s *sighting) (*gathering, basis) {
	var g *gathering
	var b basis
	add := func(to *gathering, how basis) {
		if to != nil && (g == nil || g == to) {
			g, b = to, b|how
		}
	}
	if d := s.detail; d != nil && d.scopeOf != "" && isScopeOf(d.scope, a.who.owner, d.scopeOf) {
		add(a.group(d.scopeOf), byScope)
	}
	if a.leaderPIDs.has(s.sid) {
		add(a.leaders[s.sid], bySession)
	}
	if a.leaderPIDs.has(s.pgid) {
		add(a.leaders[s.pgid], byGroup)
	}
	if a.memberPIDs.has(s.ppid) {
		// A parent is older than its child. If not, its number was another's
		// when the child's parent was read.
		if m, ok := a.members[s.ppid]; ok && m.start <= s.Start {
			add(m.group, byDescent)
		}
	}
	if id := s.prior(); id != "" && (g == nil || !g.anchored) {
		add(a.groups[id], byMemory)
	}
	return g, b
}
