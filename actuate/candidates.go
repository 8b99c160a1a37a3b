//go:build linux || darwin || freebsd

package actuate

import (
	"hash/fnv"
	"iter"

	"github.com/proc-controller/proc-controller/spec"
)

// Ports below firstPort need privileges (firstPort itself is left out because
// it begins the ephemeral range on some systems); those below quietPort are
// where people expect well-known services, so they come last.
const (
	firstPort = 1025
	quietPort = 10000
	lastPort  = 65535
)

// portRange is a range of TCP ports, both ends included. It is empty where Low
// is greater than High.
type portRange struct{ Low, High int }

// candidates gives the ports that may be chosen for one port of a workload, in
// the order in which they are to be tried. The order depends on the arguments
// alone, so that a workload tends to get the same port again, and it differs
// between workloads, so that they do not race for the same one.
//
// Ports of the ephemeral range come only when no other is left: the kernel
// hands them to outgoing connections at any moment.
func candidates(owner spec.Owner, key spec.Key, name string, ephemeral portRange) iter.Seq[uint16] {
	seed := portSeed(owner, key, name)
	all := portRange{firstPort, lastPort}
	tiers := [][]portRange{
		portRange{quietPort, lastPort}.without(ephemeral),
		portRange{firstPort, quietPort - 1}.without(ephemeral),
		{all.within(ephemeral)},
	}
	return func(yield func(uint16) bool) {
		for _, tier := range tiers {
			if !rotate(tier, seed, yield) {
				return
			}
		}
	}
}

// size is the number of ports in the range.
func (r portRange) size() int { return max(0, r.High-r.Low+1) }

// within gives the part of r that lies in o.
func (r portRange) within(o portRange) portRange {
	return portRange{max(r.Low, o.Low), min(r.High, o.High)}
}

// without gives what is left of r beside o: at most a part below and one above.
func (r portRange) without(o portRange) []portRange {
	if r.within(o).size() == 0 {
		return []portRange{r}
	}
	return []portRange{{r.Low, o.Low - 1}, {o.High + 1, r.High}}
}

// rotate yields every port of the ranges once, beginning at seed, and says
// whether to go on. Neighbours in the order are neighbours in number: a run of
// ports in use costs a few attempts more, and the order is easy to foretell.
func rotate(ranges []portRange, seed uint64, yield func(uint16) bool) bool {
	total := 0
	for _, r := range ranges {
		total += r.size()
	}
	for i := range total {
		at := int((seed + uint64(i)) % uint64(total))
		for _, r := range ranges {
			if at < r.size() {
				if !yield(uint16(r.Low + at)) {
					return false
				}
				break
			}
			at -= r.size()
		}
	}
	return true
}

// portSeed hashes what a port is chosen by. The parts are separated by a byte
// that none of them can hold, so that no two workloads share a seed by the way
// their names are cut.
func portSeed(owner spec.Owner, key spec.Key, name string) uint64 {
	h := fnv.New64a()
	for _, part := range []string{string(owner), string(key.Kind), key.Name, name} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return h.Sum64()
}
