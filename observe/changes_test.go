package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/spec"
)

func agent(name string) spec.Key { return spec.Key{Kind: spec.KindAgent, Name: name} }

func instance(name string, id spec.Instance, pid int) *Instance {
	p := &Process{Ident: Ident{pid, 7}}
	return &Instance{Key: agent(name), ID: id, Main: p, LastMain: p.Ident}
}

func ids(list []*Instance) (got []spec.Instance) {
	for _, in := range list {
		got = append(got, in.ID)
	}
	return got
}

func TestSnapshotWithStarted(t *testing.T) {
	var s Snapshot
	for _, in := range []*Instance{
		instance("b", "x-20", 1), instance("a", "x-9", 2), instance("b", "x-3", 3), instance("c", "x-1", 4),
		instance("b", "w-20", 5), instance("b", "x-20", 6),
	} {
		before := ids(s.Instances)
		next := s.WithStarted(in)
		if diff := cmp.Diff(before, ids(s.Instances)); diff != "" {
			t.Fatalf("the snapshot before has changed: %s", diff)
		}
		s = next
	}
	want := []spec.Instance{"x-9", "x-3", "w-20", "x-20", "x-1"}
	if diff := cmp.Diff(want, ids(s.Instances)); diff != "" {
		t.Error(diff)
	}
	of := s.InstancesOf(agent("b"))
	if diff := cmp.Diff(want[1:4], ids(of)); diff != "" {
		t.Error(diff)
	}
	if of[2].Main.PID != 6 {
		t.Errorf("an instance with the same name was not replaced: pid %d", of[2].Main.PID)
	}
	for _, name := range []string{"", "aa", "z"} {
		if got := s.InstancesOf(agent(name)); got != nil {
			t.Errorf("instances of %q: %v", name, ids(got))
		}
	}
}

// A scan may see an instance, and that its main process has ended, before the
// outcome of its start is told.
func TestSnapshotWithStartedKeepsWhatAScanHasSeen(t *testing.T) {
	start := instance("a", "x-1", 10)
	seen := *start
	member := &Process{Ident: Ident{11, 7}}
	seen.Main, seen.Members = nil, []*Process{member}
	seen.Doubtful = []*Process{{Ident: start.LastMain}, {Ident: Ident{12, 7}}}
	in := Snapshot{Instances: []*Instance{&seen}}.WithStarted(start).Instances[0]
	if in.Main != start.Main || len(in.Members) != 1 || in.Members[0] != member || len(in.Doubtful) != 1 || in.Doubtful[0].PID != 12 {
		t.Errorf("%+v", in)
	}
	if len(start.Members) > 0 || len(seen.Doubtful) != 2 {
		t.Error("what was given has changed")
	}
}

func TestSnapshotWithExit(t *testing.T) {
	at := time.Unix(100, 0)
	s := Snapshot{}.WithStarted(instance("a", "x-1", 10)).WithStarted(instance("b", "x-2", 11))
	ended := s.WithExit(Exit{Ident: Ident{11, 7}, At: at})
	if in := ended.Instances[1]; in.Live() || !in.EndedAt.Equal(at) || in.LastMain != (Ident{11, 7}) {
		t.Errorf("ended instance: %+v", in)
	}
	if !s.Instances[1].Live() || !ended.Instances[0].Live() {
		t.Error("another one has ended too")
	}
	again := ended.WithExit(Exit{Ident: Ident{11, 7}, At: at.Add(time.Hour)})
	if !again.Instances[1].EndedAt.Equal(at) {
		t.Error("an end that is told twice moves")
	}
	if got := s.WithExit(Exit{Ident: Ident{11, 8}, At: at}); !got.Instances[1].Live() {
		t.Error("the end of another process with the same pid was taken for it")
	}
}

func TestSnapshotWithoutInstance(t *testing.T) {
	s := Snapshot{}.WithStarted(instance("a", "x-1", 10)).WithStarted(instance("b", "x-2", 11))
	if diff := cmp.Diff([]spec.Instance{"x-2"}, ids(s.WithoutInstance("x-1").Instances)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]spec.Instance{"x-1", "x-2"}, ids(s.WithoutInstance("x-9").Instances)); diff != "" {
		t.Error(diff)
	}
	if len(s.Instances) != 2 {
		t.Error("the snapshot before has changed")
	}
}

func TestSnapshotWithListeners(t *testing.T) {
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	first := Snapshot{}.WithListeners([]uint16{80, 81}, map[uint16]Listener{80: {Addr: "::"}}, early)
	second := first.WithListeners([]uint16{81}, map[uint16]Listener{81: {}}, late)
	want := map[uint16]Listener{
		80: {Port: 80, Listening: true, At: early, Addr: "::"},
		81: {Port: 81, Listening: true, At: late},
	}
	if diff := cmp.Diff(want, second.Listeners); diff != "" {
		t.Error(diff)
	}
	if first.Listeners[81].Listening {
		t.Error("the snapshot before has changed")
	}
}
