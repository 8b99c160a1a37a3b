//go:build linux || darwin || freebsd

package actuate

import (
	"slices"
	"testing"

	"github.com/proc-controller/proc-controller/spec"
)

var files = spec.Key{Kind: spec.KindMCPServer, Name: "files"}

func TestCandidatesAreTheSameEachTime(t *testing.T) {
	r := portRange{32768, 60999}
	one := slices.Collect(candidates("me", files, "http", r))
	two := slices.Collect(candidates("me", files, "http", r))
	if !slices.Equal(one, two) {
		t.Error("two orders for the same arguments")
	}
	for _, other := range [][]uint16{
		slices.Collect(candidates("you", files, "http", r)),
		slices.Collect(candidates("me", spec.Key{Kind: spec.KindAgent, Name: "files"}, "http", r)),
		slices.Collect(candidates("me", files, "admin", r)),
	} {
		if other[0] == one[0] {
			t.Errorf("the same first candidate %d for other arguments", other[0])
		}
	}
}

func TestCandidatesAreEachPortOnceAndEphemeralOnesLast(t *testing.T) {
	for _, r := range []portRange{{32768, 60999}, {1024, 65535}, {15000, 61000}, {49152, 65535}, {1, 0}, {2000, 3000}} {
		got := slices.Collect(candidates("me", files, "", r))
		if len(got) != lastPort-firstPort+1 {
			t.Fatalf("%v: %d candidates", r, len(got))
		}
		seen := map[uint16]bool{}
		tier := 0
		for _, p := range got {
			if seen[p] || p < firstPort {
				t.Fatalf("%v: %d comes twice or needs privileges", r, p)
			}
			seen[p] = true
			now := tierOf(int(p), r)
			if now < tier {
				t.Fatalf("%v: %d comes after worse ones", r, p)
			}
			tier = now
		}
	}
}

func tierOf(port int, r portRange) int {
	switch {
	case port >= r.Low && port <= r.High:
		return 2
	case port < quietPort:
		return 1
	}
	return 0
}
