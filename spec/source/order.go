package source

import (
	"maps"
	"slices"

	"github.com/proc-controller/proc-controller/spec"
)

// order keeps the Order and the Cycle of the entries. A change of what depends
// on what, and of which keys there are, costs as much as there are entries with
// dependencies; any other change costs nothing.
type order struct {
	dependents map[spec.Key]struct{}
	stale      bool
}

// entry takes note that one entry of a key follows another; either may be nil.
func (o *order) entry(k spec.Key, old, e *spec.Entry) {
	was, is := depends(old), depends(e)
	switch {
	case is:
		o.dependents[k] = struct{}{}
	case was:
		delete(o.dependents, k)
	}
	switch {
	case len(o.dependents) == 0:
	case !sameForDependents(old, e), was != is, is && !sameDependencies(old, e):
		o.stale = true
	}
}

// sameDependencies tells whether nothing new is to be said of an entry with
// dependencies: there was nothing to say, and it depends on the same.
func sameDependencies(old, e *spec.Entry) bool {
	a, b := &old.Object.Spec, &e.Object.Spec
	return len(old.Order) == 0 && slices.Equal(a.DependsOn, b.DependsOn) && slices.Equal(a.MCPServers, b.MCPServers)
}

func depends(e *spec.Entry) bool {
	return e != nil && e.Object != nil && e.Object.Spec.HasDependencies()
}

// sameForDependents tells whether two entries of a key are the same to those
// that depend on it. A key that is held counts as defined: its absence is not
// proven.
func sameForDependents(old, e *spec.Entry) bool {
	return (old == nil) == (e == nil) && policy(old) == policy(e)
}

func policy(e *spec.Entry) spec.RestartPolicy {
	if e == nil || e.Object == nil {
		return ""
	}
	return e.Object.Spec.RestartPolicy
}

// settle makes the entries of the table say what is wrong with their
// dependencies now.
func (o *order) settle(t *table) {
	if !o.stale {
		return
	}
	o.stale = false
	all := make([]spec.Located, 0, len(o.dependents))
	for k := range o.dependents {
		e := t.current[k]
		all = append(all, spec.Located{Object: e.Object, File: e.File, Line: e.Line})
	}
	lookup := func(k spec.Key) (*spec.Object, bool) {
		e := t.current[k]
		if e == nil {
			return nil, false
		}
		return e.Object, true
	}
	orders := spec.Orders(all, lookup, maps.Keys(t.current))
	for k := range o.dependents {
		e, now := t.current[k], orders[k]
		if slices.Equal(e.Order, now.Findings) && slices.Equal(e.Cycle, now.Cycle) {
			continue
		}
		c := *e
		c.Order, c.Cycle = now.Findings, now.Cycle
		t.put(&c)
	}
}
