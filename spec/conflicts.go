package spec

import (
	"fmt"
	"maps"
	"slices"
)

// Located is an object and the place that it was read from.
type Located struct {
	Object *Object
	File   string
	Line   int
}

// Conflict is a finding that concerns one object because of another one.
type Conflict struct {
	Key     Key
	Finding Finding
}

// Conflicts checks objects against one another: two that have one key, two
// that have one fixed port, of which both sides are told, one after the other;
// and what Orders finds. What is wrong within one object, Decode has found.
//
// Broken are keys of manifests that were not understood: other objects may
// depend on them.
func Conflicts(all []Located, broken ...Key) []Conflict {
	keys := make(map[Key]*Located, len(all))
	ports := make(map[int32]*Located)
	var found []Conflict
	both := func(a, b *Located, reason Reason, format string, what any) {
		found = append(found, a.conflict(b, reason, format, what), b.conflict(a, reason, format, what))
	}
	for i := range all {
		l := &all[i]
		if first := keys[l.Object.Key()]; first != nil {
			both(first, l, ReasonDuplicate, "%v is defined in %s:%d too", l.Object.Key())
			continue
		}
		keys[l.Object.Key()] = l
		for _, p := range l.Object.Spec.Ports {
			first := ports[p.Port]
			switch {
			case p.Port == 0 || first == l:
			case first != nil:
				both(first, l, ReasonPortConflict, "the fixed port %v is wanted in %s:%d too", p.Port)
			default:
				ports[p.Port] = l
			}
		}
	}
	return append(found, disorders(keys, broken)...)
}

// disorders are what Orders finds, by key.
func disorders(keys map[Key]*Located, broken []Key) []Conflict {
	var dependents []Located
	for _, l := range keys {
		if l.Object.Spec.HasDependencies() {
			dependents = append(dependents, *l)
		}
	}
	lookup := func(k Key) (*Object, bool) {
		if l := keys[k]; l != nil {
			return l.Object, true
		}
		return nil, slices.Contains(broken, k)
	}
	orders := ordersOf(dependents, lookup, maps.Keys(keys), "no manifest that is checked here")
	var found []Conflict
	for _, k := range slices.SortedFunc(maps.Keys(orders), Key.Compare) {
		for _, f := range orders[k].Findings {
			found = append(found, Conflict{k, f})
		}
	}
	return found
}

func (l *Located) conflict(with *Located, reason Reason, format string, what any) Conflict {
	return Conflict{l.Object.Key(), Finding{
		File: l.File, Line: l.Line, Column: 1, Reason: reason,
		Message: fmt.Sprintf(format, what, with.File, with.Line),
	}}
}
