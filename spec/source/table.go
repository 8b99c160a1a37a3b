package source

import (
	"maps"
	"slices"

	"github.com/proc-controller/proc-controller/spec"
)

// table holds the entries by key and gives them out as a sorted slice that is
// never modified. What a change costs does not grow with the number of
// entries, except for one copy of that slice of pointers.
type table struct {
	current map[spec.Key]*spec.Entry
	changed map[spec.Key]struct{}
	sorted  []*spec.Entry // as last given out
}

func newTable() table {
	return table{
		current: make(map[spec.Key]*spec.Entry),
		changed: make(map[spec.Key]struct{}),
	}
}

func (t *table) put(e *spec.Entry) {
	t.current[e.Key] = e
	t.changed[e.Key] = struct{}{}
}

func (t *table) drop(k spec.Key) {
	delete(t.current, k)
	t.changed[k] = struct{}{}
}

// commit gives out the entries as they are now.
func (t *table) commit() []*spec.Entry {
	if len(t.changed) == 0 {
		return t.sorted
	}
	old, next := t.sorted, make([]*spec.Entry, 0, len(t.current))
	for _, k := range slices.SortedFunc(maps.Keys(t.changed), spec.Key.Compare) {
		i, found := slices.BinarySearchFunc(old, k, func(e *spec.Entry, k spec.Key) int { return e.Key.Compare(k) })
		next = append(next, old[:i]...)
		if found {
			i++
		}
		old = old[i:]
		if e := t.current[k]; e != nil {
			next = append(next, e)
		}
	}
	t.sorted = append(next, old...)
	clear(t.changed)
	return t.sorted
}
