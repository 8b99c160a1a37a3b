package source

import (
	"fmt"
	"maps"
	"slices"

	"github.com/proc-controller/proc-controller/spec"
)

// ports knows which workloads want which fixed port, so that two that want the
// same can be told without looking at all others.
type ports map[int32]map[spec.Key]*spec.Entry

// replace takes note that one entry of a key followed another; either may be
// nil.
func (p ports) replace(old, e *spec.Entry) {
	for _, n := range fixedPorts(old) {
		delete(p[n], old.Key)
		if len(p[n]) == 0 {
			delete(p, n)
		}
	}
	for _, n := range fixedPorts(e) {
		if p[n] == nil {
			p[n] = make(map[spec.Key]*spec.Entry, 1)
		}
		p[n][e.Key] = e
	}
}

// shared are the findings for a port that several workloads want: one at each.
func (p ports) shared(n int32) []spec.Finding {
	if len(p[n]) < 2 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(p[n]), spec.Key.Compare)
	var found []spec.Finding
	for i, k := range keys {
		e, other := p[n][k], keys[(i+1)%len(keys)]
		found = append(found, spec.Finding{
			File: e.File, Line: e.Line, Reason: spec.ReasonPortConflict,
			Message: fmt.Sprintf("%v wants port %d, and so does %v (%s)", k, n, other, place(p[n][other])),
		})
	}
	return found
}

// fixedPorts are the ports that an entry asks for by number, while it should
// run at all.
func fixedPorts(e *spec.Entry) []int32 {
	if e == nil || e.Object == nil || e.Gone() || e.Object.Spec.Suspend {
		return nil
	}
	var fixed []int32
	for _, p := range e.Object.Spec.Ports {
		if p.Port != 0 {
			fixed = append(fixed, p.Port)
		}
	}
	return fixed
}
