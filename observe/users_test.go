package observe

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/spec"
)

func fromSetID(s *sighting) { s.detail.uid, s.detail.euid, s.detail.setID = 0, 0, true }

// The controller is root, and agent a runs as 2000 by its manifest. Whoever else
// has its markers has copied them.
func TestAttributeByUser(t *testing.T) {
	root := identity{owner: "own", uid: 0, self: 50, users: map[spec.Key]uint32{{Kind: spec.KindAgent, Name: "a"}: 2000}}
	keyA := spec.Key{Kind: spec.KindAgent, Name: "a"}
	ledger := Witness{Key: keyA, ID: testInstance, UID: 2000, Main: Ident{100, 1000}, Ledger: true}
	ofRoot := Witness{Key: keyA, ID: testInstance, Main: Ident{100, 1000}, Ledger: true}
	escaped := func(s *sighting) { s.ppid = 1 }
	for name, tt := range map[string]struct {
		table []sighting
		known []Witness
		want  map[int]string
	}{
		"the manifest's user":        {table: []sighting{proc(100, 1000, asUser(2000, 2000))}, want: map[int]string{100: "Ours main"}},
		"the controller's own":       {table: []sighting{proc(100, 1000, asUser(0, 0))}, want: map[int]string{100: "Ours main"}},
		"another":                    {table: []sighting{proc(100, 1000, asUser(3000, 3000))}, want: map[int]string{100: "NotOurs"}},
		"effective user is another":  {table: []sighting{proc(100, 1000, asUser(2000, 0))}, want: map[int]string{100: "NotOurs"}},
		"the user of another agent":  {table: []sighting{proc(100, 1000, named("b"), asUser(2000, 2000))}, want: map[int]string{100: "NotOurs"}},
		"a set-user-ID program":      {table: []sighting{proc(100, 1000, fromSetID)}, want: map[int]string{100: "NotOurs"}},
		"without an instance":        {table: []sighting{proc(100, 1000, of(""), asUser(2000, 2000))}, want: map[int]string{100: "Ours"}},
		"another's without instance": {table: []sighting{proc(100, 1000, of(""), asUser(3000, 3000))}, want: map[int]string{100: "NotOurs"}},
		"a member that left everything": {
			table: []sighting{proc(100, 1000, asUser(2000, 2000)), proc(101, 1500, escaped, asUser(2000, 2000)), proc(102, 1500, escaped, asUser(3000, 3000))},
			known: []Witness{ledger},
			want:  map[int]string{100: "Ours main", 101: "Ours descendant", 102: "NotOurs"},
		},
		"the ledger is more exact than the manifest": {
			table: []sighting{proc(100, 1000, asUser(0, 0)), proc(101, 1500, escaped, asUser(2000, 2000)), proc(102, 1500, escaped, asUser(0, 0))},
			known: []Witness{ofRoot},
			want:  map[int]string{100: "Ours main", 101: "NotOurs", 102: "Ours descendant"},
		},
		"a member in the session may be anybody": {
			table: []sighting{proc(100, 1000, asUser(2000, 2000)), proc(101, 1500, inSession(100), asUser(3000, 3000)), proc(102, 1500, inSession(100), fromSetID)},
			known: []Witness{ledger},
			want:  map[int]string{100: "Ours main", 101: "Ours descendant", 102: "Ours descendant"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := attribute(root, tt.table, tt.known, nil)
			got := map[int]string{}
			for i := range a.findings {
				f := &a.findings[i]
				got[tt.table[f.at].PID] = told(f)
				words := strings.Join(f.basis.evidence(&tt.table[f.at], root, f.group), "; ")
				if f.verdict == NotOurs && !strings.Contains(words, "runs as uid") && !strings.Contains(words, "set-user-ID") {
					t.Errorf("evidence %q does not name the user", words)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is adopted without a ledger is remembered with its user.
func TestAssembleKeepsTheUser(t *testing.T) {
	keyA := spec.Key{Kind: spec.KindAgent, Name: "a"}
	s := &Scanner{who: identity{owner: "own", uid: 0, self: 50, users: map[spec.Key]uint32{keyA: 2000}}, table: &table{}}
	for name, rows := range map[string][]sighting{
		"main":    {proc(100, 1000, asUser(2000, 2000)), proc(101, 1001, inSession(100), asUser(0, 0))},
		"orphans": {proc(101, 1500, under(1), inSession(101), asUser(2000, 2000))},
	} {
		first := s.assemble(attribute(s.who, rows, nil, nil), time.Now())
		if len(first.Instances) != 1 || first.Instances[0].UID != 2000 {
			t.Fatalf("%s: instances %+v, want one of uid 2000", name, first.Instances)
		}
		// Without the manifest and the ledger memory alone knows.
		again := s.assemble(attribute(identity{owner: "own", self: 50}, rows, nil, first.Instances), time.Now())
		if name == "main" && (len(again.Instances) != 1 || again.Instances[0].UID != 2000) {
			t.Errorf("%s: instances %+v after the manifest is gone", name, again.Instances)
		}
	}
}

func TestResolveUsers(t *testing.T) {
	s := &Scanner{}
	a, b, c := spec.Key{Kind: spec.KindAgent, Name: "a"}, spec.Key{Kind: spec.KindAgent, Name: "b"}, spec.Key{Kind: spec.KindAgent, Name: "c"}
	known := []Witness{{Key: a, User: "4242:1"}, {Key: b, User: "root"}, {Key: c, User: "no-such-user"}, {Key: c, ID: testInstance, UID: 7}}
	if !s.resolveUsers(known, Full) || s.resolveUsers(known, Look) {
		t.Error("the first time is a change, the second is none")
	}
	if diff := cmp.Diff(map[spec.Key]uint32{a: 4242, b: 0}, s.who.users); diff != "" {
		t.Error(diff)
	}
	if !s.resolveUsers(nil, Look) || s.who.users != nil {
		t.Errorf("users %v without a manifest", s.who.users)
	}
}
