package observe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/spec"
)

// The pure tests describe a table in one line for each process and expect one
// for each process that something was concluded of.

var testWho = identity{owner: "own", uid: 1000, self: 50}

const testInstance = spec.Instance("abc-1000")

// proc is a process of instance abc-1000 that leads its session.
func proc(pid int, start uint64, change ...func(*sighting)) sighting {
	m := spec.Markers{Subprocess: true, Owner: "own", Instance: testInstance, AgentName: "a"}
	s := sighting{
		Ident: Ident{pid, start}, ppid: 50, pgid: int32(pid), sid: int32(pid), threads: 1, state: 'S',
		environ: environMarked, settled: true, detail: &detail{markers: m, uid: 1000, euid: 1000},
	}
	for _, f := range change {
		f(&s)
	}
	return s
}

func under(ppid int32) func(*sighting)    { return func(s *sighting) { s.ppid = ppid } }
func inSession(sid int32) func(*sighting) { return func(s *sighting) { s.sid, s.pgid = sid, sid } }
func inGroup(pgid int32) func(*sighting)  { return func(s *sighting) { s.pgid = pgid } }
func named(n string) func(*sighting)      { return func(s *sighting) { s.detail.markers.AgentName = n } }

func ownedBy(o spec.Owner) func(*sighting) { return func(s *sighting) { s.detail.markers.Owner = o } }

func of(id spec.Instance) func(*sighting) {
	return func(s *sighting) { s.detail.markers.Instance = id }
}

func asUser(real, eff uint32) func(*sighting) {
	return func(s *sighting) { s.detail.uid, s.detail.euid = real, eff }
}
func cleared(s *sighting) { s.environ, s.detail = environPlain, nil }
func denied(s *sighting)  { s.environ, s.detail = environDenied, nil }
func stuck(s *sighting)   { s.environ, s.detail = environBlocked, nil }
func nested(s *sighting)  { s.detail.nested = true }
func zombie(s *sighting)  { s.state, s.environ, s.detail = 'Z', environEmpty, nil }
func partial(s *sighting) { s.detail.markers.Subprocess = false }
func unnamed(s *sighting) { s.detail.markers.AgentName = "" }
func known(s *sighting) {
	s.memory = &memory{prior: testInstance, shown: &Process{Role: Descendant}}
}

func inScope(owner spec.Owner) func(*sighting) {
	return func(s *sighting) {
		s.detail = &detail{scope: ScopeName(owner, testInstance) + scopeSuffix, scopeOf: testInstance}
		s.environ = environPlain
	}
}

// told renders a conclusion: "Ours main", "CannotTell doubt", "NotOurs".
func told(f *finding) string {
	words := []string{f.verdict.String()}
	if f.role != NoRole {
		words = append(words, f.role.String())
	}
	if f.doubtful() {
		words = append(words, "doubt of "+f.group.key.Name)
	}
	return strings.Join(words, " ")
}

func TestAttribute(t *testing.T) {
	keyA := spec.Key{Kind: spec.KindAgent, Name: "a"}
	ledger := Witness{Key: keyA, ID: testInstance, Main: Ident{100, 1000}, Ledger: true}
	handle := Witness{Key: keyA, ID: testInstance, Main: Ident{100, 1000}, Handle: true}
	remembered := Witness{Key: keyA, ID: testInstance, Main: Ident{100, 1000}}
	tests := map[string]struct {
		table []sighting
		known []Witness
		want  map[int]string
	}{
		"main and descendants": {
			table: []sighting{proc(100, 1001), proc(101, 1005, under(100), inSession(100)), proc(102, 1005, under(101))},
			want:  map[int]string{100: "Ours main", 101: "Ours descendant", 102: "Ours descendant"},
		},
		"the start may be two ticks late": {
			table: []sighting{proc(100, 1002)}, want: map[int]string{100: "Ours main"},
		},
		"three are too many": {
			table: []sighting{proc(100, 1003)}, want: map[int]string{100: "Ours descendant"},
		},
		"before the spawn there was none": {
			table: []sighting{proc(100, 999)}, want: map[int]string{100: "Ours descendant"},
		},
		"who leads no session is not main": {
			table: []sighting{proc(100, 1000, inSession(7))}, want: map[int]string{100: "Ours descendant"},
		},
		"a marked ancestor through an unmarked one": {
			table: []sighting{proc(100, 1000), proc(101, 1001, cleared, under(100)), proc(102, 1001, under(101))},
			want:  map[int]string{100: "Ours main", 101: "Ours descendant", 102: "Ours descendant"},
		},
		"several candidates": {
			table: []sighting{proc(100, 1000), proc(101, 1001), proc(102, 1900, inSession(100))},
			want:  map[int]string{100: "CannotTell doubt of a", 101: "CannotTell doubt of a", 102: "CannotTell doubt of a"},
		},
		"the ledger makes it exact": {
			table: []sighting{proc(100, 1000), proc(101, 1001)}, known: []Witness{ledger},
			want: map[int]string{100: "Ours main", 101: "Ours descendant"},
		},
		"the ledger's pid is another's now": {
			table: []sighting{proc(100, 5000, cleared), proc(101, 1001)}, known: []Witness{ledger},
			want: map[int]string{101: "Ours descendant"},
		},
		"the ledger's process cleared its environment": {
			table: []sighting{proc(100, 1000, cleared)}, known: []Witness{ledger},
			want: map[int]string{100: "Ours main"},
		},
		"the ledger's process cannot be read": {
			table: []sighting{proc(100, 1000, denied)}, known: []Witness{ledger},
			want: map[int]string{100: "CannotTell doubt of a"},
		},
		"the ledger's process says that it is another's": {
			table: []sighting{proc(100, 1000, ownedBy("else"))}, known: []Witness{ledger},
			want: map[int]string{100: "CannotTell doubt of a"},
		},
		"a handle counts whatever is read": {
			table: []sighting{proc(100, 1000, denied)}, known: []Witness{handle},
			want: map[int]string{100: "Ours main"},
		},
		"a handle beats the ledger": {
			table: []sighting{proc(100, 1000, stuck)}, known: []Witness{handle, ledger},
			want: map[int]string{100: "Ours main"},
		},
		"markers of an instance that is another workload's": {
			table: []sighting{proc(100, 1000), proc(101, 1400, named("b"))},
			want:  map[int]string{100: "Ours main", 101: "CannotTell"},
		},
		"the same below the main process": {
			table: []sighting{proc(100, 1000), proc(101, 1400, named("b"), under(100))},
			want:  map[int]string{100: "Ours main", 101: "CannotTell doubt of a"},
		},
		"workloads contradict each other": {
			table: []sighting{proc(100, 2000), proc(101, 2400, named("b"))},
			want:  map[int]string{100: "CannotTell", 101: "CannotTell"},
		},
		"unreadable without a witness": {
			table: []sighting{proc(100, 1000), proc(101, 1000, denied), proc(102, 1000, stuck)},
			want:  map[int]string{100: "Ours main"},
		},
		"unreadable in the session, in the group, below": {
			table: []sighting{
				proc(100, 1000), proc(101, 1400, denied, inSession(100)),
				proc(102, 1400, stuck, inGroup(100)), proc(103, 1400, denied, under(100)),
			},
			want: map[int]string{100: "Ours main", 101: "CannotTell doubt of a", 102: "CannotTell doubt of a", 103: "CannotTell doubt of a"},
		},
		"other user, by markers alone": {
			table: []sighting{proc(100, 1000, asUser(0, 1000)), proc(101, 1000, asUser(1000, 0))},
			want:  map[int]string{100: "NotOurs", 101: "NotOurs"},
		},
		"other user, below a verified main process": {
			table: []sighting{proc(100, 1000), proc(101, 1400, asUser(33, 33), under(100))},
			want:  map[int]string{100: "Ours main", 101: "Ours descendant"},
		},
		"other user with a handle": {
			table: []sighting{proc(100, 1000, asUser(33, 33))}, known: []Witness{handle},
			want: map[int]string{100: "Ours main"},
		},
		"another namespace is never main": {
			table: []sighting{proc(100, 1000, nested)}, want: map[int]string{100: "NotOurs"},
		},
		"not even by the ledger, which leaves a doubt": {
			table: []sighting{proc(100, 1000, nested)}, known: []Witness{ledger},
			want: map[int]string{100: "CannotTell doubt of a"},
		},
		"another namespace in the session": {
			table: []sighting{proc(100, 1000), proc(101, 1400, nested, inSession(100))},
			want:  map[int]string{100: "Ours main", 101: "Ours descendant"},
		},
		"a zombie is nobody": {
			table: []sighting{proc(100, 1000, zombie), proc(101, 1400)}, known: []Witness{handle},
			want: map[int]string{101: "Ours descendant"},
		},
		"a zombie main process keeps its session": {
			table: []sighting{proc(100, 1000, zombie), proc(101, 1400, cleared, inSession(100))}, known: []Witness{ledger},
			want: map[int]string{101: "Ours descendant"},
		},
		"main threads may exit while others run": {
			table: []sighting{proc(100, 1000, zombie, func(s *sighting) { s.threads = 2 })}, known: []Witness{handle},
			want: map[int]string{100: "Ours main"},
		},
		"the session of a main process that is gone": {
			table: []sighting{proc(101, 1400, cleared, inSession(100))}, known: []Witness{ledger},
			want: map[int]string{101: "CannotTell doubt of a"},
		},
		"the same, with a verified member in it": {
			table: []sighting{proc(101, 1400, cleared, inSession(100)), proc(102, 1400, inSession(100))}, known: []Witness{ledger},
			want: map[int]string{101: "Ours descendant", 102: "Ours descendant"},
		},
		"the group of a main process that is gone": {
			table: []sighting{proc(101, 1400, cleared, inGroup(100)), proc(102, 1400, inGroup(100))}, known: []Witness{remembered},
			want: map[int]string{101: "Ours descendant", 102: "Ours descendant"},
		},
		"a session with the number of a main process that is gone": {
			table: []sighting{proc(100, 9000, cleared), proc(101, 9100, cleared, inSession(100))}, known: []Witness{ledger},
			want: map[int]string{},
		},
		"memory": {
			table: []sighting{proc(101, 1400, cleared, known)}, known: []Witness{remembered},
			want: map[int]string{101: "Ours descendant"},
		},
		"memory of what cannot be read now": {
			table: []sighting{proc(101, 1400, denied, known)}, known: []Witness{remembered},
			want: map[int]string{101: "CannotTell doubt of a"},
		},
		"a child is younger than its parent": {
			table: []sighting{proc(100, 1000), proc(101, 900, cleared, under(100))},
			want:  map[int]string{100: "Ours main"},
		},
		"chains in any order of pids": {
			table: []sighting{proc(97, 1300, cleared, under(98)), proc(98, 1200, cleared, under(100)), proc(100, 1000)},
			want:  map[int]string{97: "Ours descendant", 98: "Ours descendant", 100: "Ours main"},
		},
		"a scope names the instance": {
			table: []sighting{proc(100, 1000), proc(101, 1400, inScope("own")), proc(102, 1400, inScope("else"))},
			want:  map[int]string{100: "Ours main", 101: "Ours descendant"},
		},
		"a scope that nobody knows": {
			table: []sighting{proc(101, 1400, inScope("own"))},
			want:  map[int]string{101: "CannotTell"},
		},
		"look-alikes": {
			table: []sighting{proc(100, 1000, partial), proc(101, 1000, unnamed), proc(102, 1000, ownedBy("else")), proc(103, 1000, ownedBy(""))},
			want:  map[int]string{100: "NotOurs", 101: "NotOurs", 102: "NotOurs", 103: "NotOurs"},
		},
		"another owner's within our session": {
			table: []sighting{proc(100, 1000), proc(101, 1400, ownedBy("else"), inSession(100))},
			want:  map[int]string{100: "Ours main", 101: "NotOurs"},
		},
		"incomplete markers within our session": {
			table: []sighting{proc(100, 1000), proc(101, 1400, partial, inSession(100))},
			want:  map[int]string{100: "Ours main", 101: "Ours descendant"},
		},
		"no instance marker": {
			table: []sighting{proc(100, 1000, of(""))}, want: map[int]string{100: "Ours"},
		},
		"refused, and ourselves": {
			table: []sighting{proc(1, 1000), proc(50, 1000)}, want: map[int]string{1: "NotOurs", 50: "NotOurs"},
		},
		"a witness with pid 1 or a negative one": {
			table: []sighting{proc(1, 1000, cleared)},
			known: []Witness{{Key: keyA, ID: testInstance, Main: Ident{1, 1000}, Handle: true}, {Key: keyA, ID: "neg-1", Main: Ident{-5, 1}, Handle: true}},
			want:  map[int]string{},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := attribute(testWho, tt.table, tt.known, nil)
			got := make(map[int]string)
			for i := range a.findings {
				f := &a.findings[i]
				pid := tt.table[f.at].PID
				if _, twice := got[pid]; twice {
					t.Errorf("pid %d is concluded twice", pid)
				}
				got[pid] = told(f)
				row := &tt.table[f.at]
				if row.detail == nil {
					row.detail = &detail{}
				}
				if words := f.basis.evidence(row, testWho, f.group); len(words) == 0 {
					t.Errorf("pid %d: a verdict without evidence", pid)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAttributeCountsUnreadable(t *testing.T) {
	a := attribute(testWho, []sighting{proc(100, 1, denied), proc(101, 1, stuck), proc(102, 1, cleared)}, nil, nil)
	if a.unreadable != 2 {
		t.Errorf("%d unreadable, want 2", a.unreadable)
	}
}

// An owner too long for a unit name still has its scopes.
func TestAttributeKnowsScopeOfLongOwner(t *testing.T) {
	who := testWho
	who.owner = spec.Owner(strings.Repeat("long", 50))
	table := []sighting{proc(101, 1400, inScope(who.owner))}
	w := Witness{Key: spec.Key{Kind: spec.KindAgent, Name: "a"}, ID: testInstance, Main: Ident{100, 1000}, Ledger: true}
	a := attribute(who, table, []Witness{w}, nil)
	if len(a.findings) != 1 || a.findings[0].verdict != Ours {
		t.Errorf("findings: %+v", a.findings)
	}
}

func TestPIDSet(t *testing.T) {
	var s pidSet
	for _, pid := range []int32{2, 4711, 65536 + 7, 1 << 22} {
		if s.has(pid) {
			t.Errorf("%d is in the set too early", pid)
		}
		s.add(pid)
		if !s.has(pid) {
			t.Errorf("%d is not in the set", pid)
		}
	}
}

func TestProcessDead(t *testing.T) {
	tests := []struct {
		state   byte
		threads int
		want    bool
	}{{'S', 1, false}, {'Z', 1, true}, {'Z', 0, true}, {'Z', 2, false}, {'X', 2, true}, {'T', 1, false}}
	for _, tt := range tests {
		p := Process{State: tt.state, Threads: tt.threads}
		if p.Dead() != tt.want {
			t.Errorf("state %c with %d threads: dead %v", tt.state, tt.threads, p.Dead())
		}
	}
}
