package observe

import (
	"cmp"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// assemble makes a snapshot of what was concluded. Processes and instances
// that have not changed are those of the snapshot before.
func (s *Scanner) assemble(a *attribution, began time.Time) Snapshot {
	next := Snapshot{Unreadable: a.unreadable}
	slices.SortFunc(a.findings, func(x, y finding) int { return cmp.Compare(x.at, y.at) })
	parts := make(map[*gathering]*Instance, len(a.order))
	for i := range a.findings {
		f := &a.findings[i]
		p := s.show(a, f)
		if p == nil {
			continue
		}
		if f.group == nil {
			next.Others = append(next.Others, p)
			continue
		}
		in := parts[f.group]
		if in == nil {
			in = &Instance{}
			parts[f.group] = in
		}
		in.place(p)
	}
	for _, g := range a.order {
		if in := s.instance(a, g, parts[g], began); in != nil {
			next.Instances = append(next.Instances, in)
		}
	}
	slices.SortFunc(next.Instances, compareInstances)
	for i := range a.orphans {
		if p := s.show(a, &a.orphans[i]); p != nil {
			next.Unattributed = append(next.Unattributed, p)
		}
	}
	return next
}

// show gives the process of a finding as it is handed out, or nil if it has
// ended meanwhile. What is remembered of it is brought up to date.
func (s *Scanner) show(a *attribution, f *finding) *Process {
	row := &a.table[f.at]
	if row.detail == nil && !s.table.describe(row) {
		return nil
	}
	p := f.process(row)
	if m := row.memory; m != nil && m.basis == f.basis && sameProcess(m.shown, &p) {
		return m.shown
	}
	shown := new(Process)
	*shown = p
	shown.Evidence = f.basis.evidence(row, a.who, a.contextOf(f))
	m := &memory{shown: shown, basis: f.basis, prior: row.prior()}
	if f.verdict == Ours && f.group != nil {
		m.prior = f.group.id
	}
	row.memory = m
	return shown
}

// contextOf is the instance that the evidence on a process speaks of: the one
// that it belongs to, or else the one that its markers name.
func (a *attribution) contextOf(f *finding) *gathering {
	if f.group != nil {
		return f.group
	}
	return a.groups[a.table[f.at].markers().Instance]
}

// process puts together what is handed out, without the evidence.
func (f *finding) process(row *sighting) Process {
	d := row.detail
	p := Process{
		Ident: row.Ident, PPID: int(row.ppid), PGID: int(row.pgid), SID: int(row.sid),
		State: row.state, Threads: int(row.threads), UID: d.uid, EUID: d.euid,
		Markers: d.markers, Command: d.command, Cgroup: d.cgroup,
		Verdict: f.verdict, Role: f.role, Key: f.key, Instance: d.markers.Instance,
	}
	if f.group != nil {
		p.Key, p.Instance = f.group.key, f.group.id
	}
	return p
}

func sameProcess(a, b *Process) bool {
	return a.Ident == b.Ident && a.PPID == b.PPID && a.PGID == b.PGID && a.SID == b.SID &&
		sameState(a.State, b.State) && (a.Threads > 1) == (b.Threads > 1) && a.UID == b.UID && a.EUID == b.EUID &&
		a.Verdict == b.Verdict && a.Role == b.Role && a.Key == b.Key && a.Instance == b.Instance &&
		a.Command == b.Command && a.Cgroup == b.Cgroup && equalMarkers(&a.Markers, &b.Markers)
}

// sameState says that two state letters tell the same of a process. Between
// running and the kinds of sleep it changes all the time, and its threads come
// and go: that is no news.
func sameState(a, b byte) bool {
	running := func(c byte) bool { return c == 'R' || c == 'S' || c == 'D' || c == 'I' }
	return a == b || running(a) && running(b)
}

// place sorts a process into an instance that is being made.
func (in *Instance) place(p *Process) {
	switch {
	case p.Verdict == CannotTell:
		in.Doubtful = append(in.Doubtful, p)
	case p.Role == Main:
		in.Main = p
	default:
		in.Members = append(in.Members, p)
	}
}

// instance completes an instance, or gives nil where nothing is left of it.
func (s *Scanner) instance(a *attribution, g *gathering, in *Instance, began time.Time) *Instance {
	if in == nil {
		if !g.endUntold(a.table) {
			return nil
		}
		in = &Instance{}
	}
	w := &g.witness
	in.Key, in.ID, in.LastMain = g.key, g.id, g.last
	in.Hash, in.OnExit, in.Ports, in.UID = w.Hash, w.OnExit, w.Ports, w.UID
	in.StartedAt, in.Scope, in.Log = w.StartedAt, w.Scope, w.Log
	if p := in.first(); p != nil {
		in.complete(p)
	}
	if w.ID == "" {
		in.UID = a.runsAs(g)
	}
	if in.StartedAt.IsZero() {
		if tick, ok := g.id.Tick(); ok {
			in.StartedAt = WallTime(tick)
		}
	}
	in.Child = in.Main != nil && in.Main.PPID == s.who.self
	if in.Main == nil {
		in.EndedAt = began
		if g.shown != nil && !g.shown.EndedAt.IsZero() {
			in.EndedAt = g.shown.EndedAt
		}
	}
	if g.shown != nil && sameInstance(g.shown, in) {
		return g.shown
	}
	return in
}

// endUntold says that the main process is a zombie whose end the holder of its
// handle has not been told yet: it is shown once more, as ended.
func (g *gathering) endUntold(table []sighting) bool {
	if !g.witness.Handle || g.shown == nil || !g.shown.Live() {
		return false
	}
	i := find(table, int32(g.last.PID))
	return i >= 0 && table[i].Ident == g.last
}

// first is the process whose markers describe the instance best.
func (in *Instance) first() *Process {
	switch {
	case in.Main != nil:
		return in.Main
	case len(in.Members) > 0:
		return in.Members[0]
	case len(in.Doubtful) > 0:
		return in.Doubtful[0]
	}
	return nil
}

// complete fills in what no witness has said from the markers and the cgroup of
// a process.
func (in *Instance) complete(p *Process) {
	m := &p.Markers
	if m.Instance == in.ID {
		in.Hash, in.OnExit = cmp.Or(in.Hash, m.Hash), cmp.Or(in.OnExit, m.OnExit)
		if in.Ports == nil {
			in.Ports = m.Ports
		}
	}
	if in.Scope.Mode == "" {
		in.Scope = scopeFrom(p.Cgroup, in.ID)
	}
}

// scopeFrom tells the scope of an instance from the cgroup of a member.
func scopeFrom(cgroup string, id spec.Instance) Scope {
	name, of, ok := scopeOf(cgroup)
	switch {
	case !ok || of != id:
		return Scope{Mode: ScopeOff}
	case isUnit(name):
		return Scope{Mode: ScopeSystemd, Unit: name, Cgroup: cgroup}
	}
	return Scope{Mode: ScopeCgroup, Cgroup: cgroup}
}

func sameInstance(a, b *Instance) bool {
	return a.Key == b.Key && a.ID == b.ID && a.Main == b.Main && a.LastMain == b.LastMain &&
		a.EndedAt.Equal(b.EndedAt) && a.Hash == b.Hash && a.OnExit == b.OnExit && a.Scope == b.Scope &&
		a.Log == b.Log && a.UID == b.UID && slices.Equal(a.Ports, b.Ports) && a.Child == b.Child &&
		slices.Equal(a.Members, b.Members) && slices.Equal(a.Doubtful, b.Doubtful)
}

// compareInstances orders by key, then start, then name.
func compareInstances(a, b *Instance) int {
	if c := a.Key.Compare(b.Key); c != 0 {
		return c
	}
	ta, _ := a.ID.Tick()
	tb, _ := b.ID.Tick()
	return cmp.Or(cmp.Compare(ta, tb), cmp.Compare(a.ID, b.ID))
}
