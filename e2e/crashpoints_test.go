//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

// Between the spawn and the ledger, and between the ledger and the event log:
// what cannot be written is never there when the controller dies.
func TestCrashBeforeTheRecord(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]string{
		"no ledger":            {"ledger.jsonl"},
		"no event":             {"events.jsonl"},
		"neither":              {"ledger.jsonl", "events.jsonl"},
		"nor what was there":   {"ledger.jsonl", "ledger.jsonl.1", "events.jsonl"},
		"a state that is full": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.mkdir(r.state, 0o700)
			for _, f := range files {
				r.mkdir(filepath.Join(r.state, f), 0o700) // a directory takes no lines
			}
			if files == nil {
				r.wrap = []string{
					"unshare", "--mount", "--propagation", "private", "sh", "-c",
					`mount -t tmpfs -o size=4k,mode=700 tmpfs "$1" && { head -c 8192 /dev/zero >"$1/full" 2>/dev/null; shift; exec "$@"; }`, "sh", r.state,
				}
			}
			r.write("a.yaml", kept("a"))
			r.start()
			tr := r.plant("tree", "leader", []string{"a+session", "b+daemon+session"}, "onControllerExit: Keep")
			before, members := r.running("agent/a"), idents(tr.members(t, 3))
			for range 3 {
				r.crash()
				r.start()
				if now := r.running("agent/a"); now.Status.PID != before.Status.PID {
					t.Fatalf("pid %d, was %d", now.Status.PID, before.Status.PID)
				}
				r.running("agent/tree")
				if now := idents(tr.members(t, 3)); now != members {
					t.Fatalf("the tree is %s, was %s", now, members)
				}
			}
			r.remove("a.yaml")
			r.remove(tr.file)
			nothingLeft(t, r.owner)
		})
	}
}

// crashRounds is how often the controller is killed at a moment of chance.
const crashRounds = 30

// Killed at any moment, in the midst of starts and replacements, the next
// controller starts no twin and loses no child.
func TestCrashAtAnyMoment(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	chance := rand.New(rand.NewPCG(seed, 0))
	r := newRig(t)
	names := []string{"a", "b", "c", "d"}
	versions := map[string]int{}
	publish := func(name string) {
		versions[name]++
		r.write(name+".yaml", kept(name, fmt.Sprintf("env: [{name: V, value: '%d'}]", versions[name]), "terminationGracePeriodSeconds: 1"))
	}
	for _, name := range names {
		publish(name)
	}
	noTwins := func() error {
		mains := map[string]int{}
		for _, p := range marked(r.owner) {
			for _, name := range names {
				if p.has("AGENT_NAME", name) && p.sid == p.pid {
					mains[name]++
				}
			}
		}
		for name, n := range mains {
			if n > 1 {
				return fmt.Errorf("%d of %s", n, name)
			}
		}
		return nil
	}
	for range crashRounds {
		publish(names[chance.IntN(len(names))])
		r.launch()
		<-time.After(time.Duration(chance.IntN(150)) * time.Millisecond) // the moment of chance
		r.crash()
		if err := noTwins(); err != nil {
			t.Fatalf("seed %d: twins: %v", seed, err)
		}
	}
	r.start()
	for _, name := range names {
		eventually(t, soon, name+" is as wanted", func() error {
			got := marked(r.owner)
			for _, p := range got {
				if p.has("AGENT_NAME", name) && p.has("V", fmt.Sprint(versions[name])) {
					return nil
				}
			}
			return fmt.Errorf("seed %d: %v", seed, got)
		})
	}
	eventually(t, soon, "one each", func() error {
		if got := marked(r.owner); len(got) != len(names) {
			return fmt.Errorf("seed %d: %v", seed, got)
		}
		return noTwins()
	})
	for _, name := range names {
		r.remove(name + ".yaml")
	}
	nothingLeft(t, r.owner)
}
