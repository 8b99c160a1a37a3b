package spec

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Order is what is wrong with what a workload depends on.
type Order struct {
	// Findings are one for each dependency that can never be met.
	Findings []Finding
	// Cycle is the circle of dependencies that the workload is in: each key
	// depends on the one after it, and the last on the first. It begins with the
	// workload itself, if it has at most 100 keys and is one of the first 50
	// that are tangled with one another. Nil for none.
	Cycle []Key
}

// Orders finds what is wrong with what workloads depend on, of each by itself
// valid: one that no manifest defines, one that never completes, and circles.
// Keys of which nothing is wrong are not in the answer.
//
// All are the workloads that depend on something, each once; those that do not
// may be left out. What others there are lookup tells, with a nil object where
// the manifest of a key was not understood, and names lists, for suggestions,
// in any order.
// The cost is linear in the dependencies, but for a bounded number of
// suggestions and circles.
func Orders(all []Located, lookup func(Key) (o *Object, defined bool), names iter.Seq[Key]) map[Key]Order {
	return ordersOf(all, lookup, names, "no manifest")
}

func ordersOf(all []Located, lookup func(Key) (*Object, bool), names iter.Seq[Key], noManifest string) map[Key]Order {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Located) int { return a.Object.Key().Compare(b.Object.Key()) })
	found := make(map[Key]Order)
	meant := suggestions{names: names, said: make(map[Key]string)}
	for i := range all {
		l := &all[i]
		var findings []Finding
		for j, d := range l.Object.Spec.Dependencies() {
			switch o, defined := lookup(d.Key()); {
			case !defined:
				findings = append(findings, l.finding(ReasonDependencyMissing, "%s: %s defines %v%s",
					l.Object.dependencyPath(j), noManifest, d.Key(), meant.of(d.Key())))
			case d.Condition == DependencyCompleted && o != nil && o.Spec.RestartPolicy == RestartAlways:
				findings = append(findings, l.finding(ReasonDependencyEndless, "%s: %v never completes: its restartPolicy is %s",
					l.Object.dependencyPath(j), d.Key(), RestartAlways))
			}
		}
		if findings != nil {
			found[l.Object.Key()] = Order{Findings: findings}
		}
	}
	for key, cycle := range cyclesOf(all) {
		i, _ := slices.BinarySearchFunc(all, key, func(l Located, k Key) int { return l.Object.Key().Compare(k) })
		o := found[key]
		o.Cycle = cycle
		o.Findings = append(o.Findings, all[i].finding(ReasonDependencyCycle, "the dependencies go in a circle: %s", showCycle(cycle)))
		found[key] = o
	}
	return found
}

func (l *Located) finding(reason Reason, format string, args ...any) Finding {
	return Finding{File: l.File, Line: l.Line, Column: 1, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// dependencyPath is where the i-th of Dependencies is written.
func (o *Object) dependencyPath(i int) fieldPath {
	if i < len(o.Spec.DependsOn) {
		return at("spec", "dependsOn", i)
	}
	name := o.Spec.Dependencies()[i].Name
	return at("spec", "mcpServers", slices.IndexFunc(o.Spec.MCPServers, func(r ServerRef) bool { return r.Name == name }))
}

// suggestions bounds the search for what mistyped names mean: it costs as much
// as there are names, for each.
type suggestions struct {
	names  iter.Seq[Key]
	sorted []Key // once they are needed
	said   map[Key]string
}

const maxSuggestions = 20

// of ends a message: with what the key most likely means, where there is one.
func (s *suggestions) of(k Key) string {
	said, known := s.said[k]
	if known || len(s.said) == maxSuggestions {
		return said
	}
	if s.sorted == nil {
		s.sorted = slices.SortedFunc(s.names, Key.Compare)
	}
	var same []string
	for _, other := range s.sorted {
		if other.Name == k.Name {
			said = fmt.Sprintf(": did you mean %v?", other) // of the other kind
			break
		}
		if other.Kind == k.Kind {
			same = append(same, other.Name)
		}
	}
	if name := nearest(k.Name, same); said == "" && name != "" {
		said = fmt.Sprintf(": did you mean %v?", Key{k.Kind, name})
	}
	s.said[k] = said
	return said
}

// showCycle writes a circle out as Agent/a → MCPServer/b → Agent/a. One that is
// too long to be read is cut in the middle.
func showCycle(cycle []Key) string {
	const most, ends = 12, 4
	if len(cycle) <= most {
		return showPath(cycle) + cycle[0].String()
	}
	return fmt.Sprintf("%s(%d more) → %s%v", showPath(cycle[:ends]), len(cycle)-2*ends, showPath(cycle[len(cycle)-ends:]), cycle[0])
}

func showPath(path []Key) string {
	var b strings.Builder
	for _, k := range path {
		b.WriteString(k.String() + " → ")
	}
	return b.String()
}
