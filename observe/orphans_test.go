package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/spec"
)

// orphan is a process that was handed to us, which has pid 50, with nothing to
// tell whose it is.
func orphan(pid int, start uint64, change ...func(*sighting)) sighting {
	return proc(pid, start, append([]func(*sighting){cleared}, change...)...)
}

func TestClaimOrphans(t *testing.T) {
	const second = spec.Instance("def-2000")
	self := proc(50, 500, cleared, under(1), inSession(49))
	main, adopted := proc(100, 1000), proc(100, 1000, under(1))
	handle := Witness{Key: spec.Key{Kind: spec.KindAgent, Name: "a"}, ID: testInstance, Main: Ident{100, 1000}, Handle: true}
	tests := map[string]struct {
		table     []sighting
		known     []Witness
		goneUntil uint64
		emptyAt   uint64         // of instance abc-1000
		want      map[int]string // of orphans: "-" where one is not shown at all
	}{
		"one origin": {
			table: []sighting{self, main, orphan(101, 1400)},
			want:  map[int]string{101: "Ours descendant of a"},
		},
		"and what descends from it": {
			table: []sighting{self, main, orphan(101, 1400), orphan(102, 1500, under(101))},
			want:  map[int]string{101: "Ours descendant of a", 102: "Ours descendant of a"},
		},
		"one origin, whose main process is gone": {
			table: []sighting{self, orphan(101, 1400)}, known: []Witness{handle},
			want: map[int]string{101: "Ours descendant of a"},
		},
		"its markers, in another namespace": {
			table: []sighting{self, main, proc(101, 1400, nested), proc(102, 2000, of(second))},
			want:  map[int]string{101: "Ours descendant of a"},
		},
		"its markers, as another user": {
			table: []sighting{self, main, proc(101, 1400, asUser(33, 33)), proc(102, 2000, of(second))},
			want:  map[int]string{101: "Ours descendant of a"},
		},
		"the same, of a stranger": {
			table: []sighting{self, main, proc(101, 1400, asUser(33, 33), under(1)), proc(102, 1400, nested, under(1))},
			want:  map[int]string{101: "NotOurs", 102: "NotOurs"},
		},
		"the session of a main process that is gone": {
			table: []sighting{self, orphan(101, 1400, inSession(100)), proc(102, 1200, of(second))}, known: []Witness{handle},
			want: map[int]string{101: "Ours descendant of a"},
		},
		"the same, unreadable": {
			table: []sighting{self, proc(101, 1400, denied, inSession(100))}, known: []Witness{handle},
			want: map[int]string{101: "CannotTell doubt of a of a"},
		},
		"two origins": {
			table: []sighting{self, main, orphan(101, 2400), proc(102, 2000, of(second))},
			want:  map[int]string{101: "Ours"},
		},
		"two, but the other is younger": {
			table: []sighting{self, main, orphan(101, 1900), proc(102, 2000, of(second))},
			want:  map[int]string{101: "Ours descendant of a"},
		},
		"an instance that is gone by now": {
			table: []sighting{self, main, orphan(101, 1400)}, goneUntil: 1500,
			want: map[int]string{101: "Ours"},
		},
		"an instance that was empty before": {
			table: []sighting{self, proc(102, 2000, of(second)), orphan(101, 2400)}, known: []Witness{handle}, emptyAt: 2300,
			want: map[int]string{101: "Ours descendant of a"},
		},
		"an instance that was empty after": {
			table: []sighting{self, proc(102, 2000, of(second)), orphan(101, 2400)}, known: []Witness{handle}, emptyAt: 2400,
			want: map[int]string{101: "Ours"},
		},
		"a start that is under way": {
			table: []sighting{self, main, orphan(101, 1400)}, known: []Witness{handle, {}},
			want: map[int]string{101: "Ours"},
		},
		"an adopted instance hands nothing to us": {
			table: []sighting{self, adopted, orphan(101, 1400)},
			want:  map[int]string{101: "Ours"},
		},
		"an older child than all that we have started": {
			table: []sighting{self, main, orphan(101, 600)},
			want:  map[int]string{101: "CannotTell"},
		},
		"in our own session": {
			table: []sighting{self, main, orphan(101, 1400, inSession(49))},
			want:  map[int]string{101: "-"},
		},
		"what we have forked on purpose": {
			table: []sighting{self, main, orphan(77, 1400)},
			want:  map[int]string{77: "-"},
		},
		"a stranger elsewhere": {
			table: []sighting{self, main, orphan(101, 1400, under(1))},
			want:  map[int]string{101: "-"},
		},
		"unreadable": {
			table: []sighting{self, main, proc(101, 1400, denied)},
			want:  map[int]string{101: "CannotTell"},
		},
		"a zombie": {
			table: []sighting{self, main, orphan(101, 1400, zombie)},
			want:  map[int]string{101: "-"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			empty := map[spec.Instance]uint64{}
			if tt.emptyAt > 0 {
				empty[testInstance] = tt.emptyAt
			}
			a := attribute(testWho, tt.table, tt.known, nil)
			a.claimOrphans(&parenthood{
				self: 50, since: 700, goneUntil: tt.goneUntil, empty: empty,
				spawned: func(pid int) bool { return pid == 77 },
			})
			got := map[int]string{}
			for pid := range tt.want {
				got[pid] = "-"
			}
			for _, f := range append(a.findings, a.orphans...) {
				pid := tt.table[f.at].PID
				if _, asked := tt.want[pid]; !asked {
					continue
				}
				if got[pid] = told(&f); f.group != nil {
					got[pid] += " of " + f.group.key.Name
				}
				if words := f.basis.evidence(&tt.table[f.at], testWho, f.group); len(words) == 0 {
					t.Errorf("pid %d: a verdict without evidence", pid)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
