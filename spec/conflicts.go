package spec

import "fmt"

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
// that have one fixed port. Both sides are told, one after the other. What is
// wrong within one object, Decode has found.
func Conflicts(all []Located) []Conflict {
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
	return found
}

func (l *Located) conflict(with *Located, reason Reason, format string, what any) Conflict {
	return Conflict{l.Object.Key(), Finding{
		File: l.File, Line: l.Line, Column: 1, Reason: reason,
		Message: fmt.Sprintf(format, what, with.File, with.Line),
	}}
}
