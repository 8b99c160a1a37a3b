package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

func runsAs(user string) func(*spec.Spec) { return func(s *spec.Spec) { s.User = user } }

// A scan that was made before the manifest was read takes what runs already for
// forged: it proves no absence.
func TestStartWaitsForAScanThatKnowsTheUser(t *testing.T) {
	scanned := func(user string) func(*World) {
		return func(w *World) { w.Observed.Users = map[spec.Key]string{files: user} }
	}
	for name, tt := range map[string]struct {
		world World
		want  []ActionType
	}{
		"not scanned yet":          {world(wants(entry(files, "a", runsAs("ann")))), []ActionType{Look}},
		"scanned for another user": {world(wants(entry(files, "a", runsAs("ann"))), scanned("bob")), []ActionType{Look}},
		"scanned":                  {world(wants(entry(files, "a", runsAs("ann"))), scanned("ann")), []ActionType{Start}},
		"no user":                  {world(wants(entry(files, "a"))), []ActionType{Start}},
		"no user any more":         {world(wants(entry(files, "a")), scanned("ann")), []ActionType{Start}},
	} {
		t.Run(name, func(t *testing.T) {
			p := Decide(tt.world)
			var got []ActionType
			for _, a := range p.Actions {
				got = append(got, a.Type)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if why := p.Why[files]; tt.want[0] == Look && why.Reason != spec.ReasonChecking {
				t.Errorf("says %+v", why)
			}
		})
	}
}

// The loop tells each scan the users, and so the start comes about.
func TestLoopTellsTheScanTheUsers(t *testing.T) {
	faults := within(t, 11, func(m *machine, _ *Controller) {
		m.publish(setOf(entry(files, "a", runsAs("ann")), entry(other, "a")))
		wait(resyncEvery / 2)
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.mains(files) != 1 || m.mains(other) != 1 {
			m.fault("%d and %d mains run", m.mains(files), m.mains(other))
		}
	})
	for _, f := range faults {
		t.Error(f)
	}
}

func TestWitnessesOfUsers(t *testing.T) {
	desired := setOf(entry(other, "a", runsAs("bob")), entry(files, "a", runsAs("ann")), &spec.Entry{Key: spec.Key{Kind: spec.KindAgent, Name: "bad"}})
	want := []observe.Witness{{Key: files, User: "ann"}, {Key: other, User: "bob"}}
	if diff := cmp.Diff(want, UserWitnesses(UsersOf(desired))); diff != "" {
		t.Error(diff)
	}
}
