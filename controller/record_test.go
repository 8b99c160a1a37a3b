package controller

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/spec"
)

// ledger is a journal in memory, of lines as they stand in a file.
type ledger struct{ lines [][]byte }

func (l *ledger) Append(r any) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	l.lines = append(l.lines, line)
}

// remembering runs a loop test with a ledger and gives the history that the
// ledger restores.
func remembering(t *testing.T, f func(m *machine), change ...func(*Options)) History {
	var kept ledger
	change = append(change, func(o *Options) { o.Ledger = &kept })
	faults := within(t, 7, func(m *machine, _ *Controller) { f(m) }, change...)
	for _, f := range faults {
		t.Error(f)
	}
	return Restore("boot", slices.Values(kept.lines))
}

func TestStopIsNoCrashAlsoAfterARestart(t *testing.T) {
	h := remembering(t, func(m *machine) {
		m.publish(setOf(entry(files, "a")))
		wait(time.Minute)
		m.publish(setOf(entry(files, "b")))
		wait(time.Minute)
	})
	k := h.Of(files)
	if k == nil || k.Crashes != 0 || k.Restarts != 0 || k.Last == nil || k.Last.Reason != spec.ReasonStopped {
		t.Errorf("%+v: want no crash, and Stopped as the last end", k)
	}
	if len(k.Instances) > 0 {
		t.Errorf("instances are left: %+v", k.Instances)
	}
}

func TestCrashesAreRememberedAfterARestart(t *testing.T) {
	h := remembering(t, func(m *machine) {
		m.publish(setOf(entry(files, "a")))
		wait(time.Minute)
		m.mu.Lock()
		for _, p := range m.procs {
			if p.main {
				m.end(p, 3, 0)
			}
		}
		m.mu.Unlock()
		wait(time.Minute)
	})
	if k := h.Of(files); k == nil || k.Crashes != 1 || k.Restarts != 1 || k.Ended != 1 {
		t.Errorf("%+v: want one crash and one restart", k)
	}
}

// A guard, which knows no manifest, stops what was adopted, and what has got
// another grace period since its start, as the manifest said.
func TestPolicyIsRememberedAsTheManifestSaysIt(t *testing.T) {
	other := spec.Key{Kind: spec.KindAgent, Name: "other"}
	keep := func(grace int64) func(*spec.Spec) {
		return func(s *spec.Spec) { s.OnControllerExit, s.TerminationGracePeriodSeconds = spec.ExitKeep, &grace }
	}
	h := remembering(t, func(m *machine) {
		m.publish(setOf(entry(files, "a", keep(3)), entry(other, "a", keep(5))))
		wait(time.Minute)
		m.publish(setOf(entry(files, "a", keep(4)), entry(other, "a", keep(5))))
		wait(time.Minute)
	}, lives(simulated{key: other, id: "aaaa-1", hash: "a", main: true, onExit: spec.ExitKeep}))
	for key, want := range map[spec.Key]time.Duration{files: 4 * time.Second, other: 5 * time.Second} {
		k := h.Of(key)
		if k == nil || len(k.Instances) != 1 || k.Instances[0].Policy.Grace != want {
			t.Errorf("%v: %+v, want one instance with a grace period of %v", key, k, want)
		}
	}
}

func TestCompactKeepsTheMeaning(t *testing.T) {
	var kept ledger
	for _, e := range exit(files, "a", 1, time.Hour) {
		kept.Append(newRecord(e, "boot"))
	}
	in := instance(files, "a", 9)
	kept.Append(newRecord(Started{Key: files, Instance: recordOf(in, true), At: t0}, "boot"))
	kept.lines = append(kept.lines, []byte("torn {"))
	want := Restore("boot", slices.Values(kept.lines))
	got := Restore("boot", slices.Values(Compact("boot", slices.Clone(kept.lines))))
	if diff := cmp.Diff(*want.Of(files), *got.Of(files)); diff != "" {
		t.Errorf("compacted to another meaning: %s", diff)
	}
	later := Restore("another boot", slices.Values(kept.lines)).Of(files)
	if len(later.Instances) > 0 || later.Crashes != 1 {
		t.Errorf("after a boot: %+v: want the counts and no instance", later)
	}
}
