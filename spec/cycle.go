package spec

import "slices"

// graph is who depends on whom, by index. What depends on nothing is in no
// circle, and is left out.
type graph struct {
	keys []Key
	next [][]int
}

// cyclesOf gives a circle for each key that is in one. The objects are sorted
// by key.
func cyclesOf(all []Located) map[Key][]Key {
	g := graph{keys: make([]Key, len(all)), next: make([][]int, len(all))}
	index := make(map[Key]int, len(all))
	for i := range all {
		g.keys[i] = all[i].Object.Key()
		index[g.keys[i]] = i
	}
	for i := range all {
		for _, d := range all[i].Object.Spec.Dependencies() {
			if j, ok := index[d.Key()]; ok {
				g.next[i] = append(g.next[i], j)
			}
		}
	}
	cycles := make(map[Key][]Key)
	for _, knot := range g.knots() {
		g.untie(knot, cycles)
	}
	return cycles
}

// knots are the sets of nodes each of which leads to each other one of its set,
// sorted: the strongly connected components of more than one node, after
// Tarjan (Depth-first search and linear graph algorithms, 1972).
func (g *graph) knots() [][]int {
	var (
		knots   [][]int
		stack   []int
		onStack = make([]bool, len(g.keys))
		number  = make([]int, len(g.keys)) // in the order of the visits, from 1
		low     = make([]int, len(g.keys)) // the lowest number on the stack that is reached
		visits  int
		visit   func(n int)
	)
	visit = func(n int) {
		visits++
		number[n], low[n] = visits, visits
		stack, onStack[n] = append(stack, n), true
		for _, m := range g.next[n] {
			switch {
			case number[m] == 0:
				visit(m)
				low[n] = min(low[n], low[m])
			case onStack[m]:
				low[n] = min(low[n], number[m])
			}
		}
		if low[n] != number[n] {
			return
		}
		var knot []int
		for onStack[n] {
			m := stack[len(stack)-1]
			stack, onStack[m] = stack[:len(stack)-1], false
			knot = append(knot, m)
		}
		if len(knot) > 1 {
			slices.Sort(knot)
			knots = append(knots, knot)
		}
	}
	for n := range g.keys {
		if number[n] == 0 {
			visit(n)
		}
	}
	return knots
}

const (
	// maxCycles is how many circles of one knot are looked for. Each costs as
	// much as the knot is large.
	maxCycles = 50
	// maxTurned is how long a circle may be to be told to each node of it from
	// that node on. The copies take the square of it.
	maxTurned = 100
)

// untie names a circle for each node of a knot: the shortest through it, or one
// through a node before it that leads through it too. Beyond maxCycles it is
// the first one of the knot, which the node leads to and is led to from.
func (g *graph) untie(knot []int, cycles map[Key][]Key) {
	inside := make(map[int]bool, len(knot))
	for _, n := range knot {
		inside[n] = true
	}
	var first []Key
	looked := 0
	for _, n := range knot {
		switch {
		case cycles[g.keys[n]] != nil:
			continue
		case looked == maxCycles:
			cycles[g.keys[n]] = first
			continue
		}
		looked++
		cycle := g.shortest(n, inside)
		if first == nil {
			first = cycle
		}
		for i, k := range cycle {
			switch {
			case cycles[k] != nil:
			case len(cycle) > maxTurned:
				cycles[k] = cycle
			default:
				cycles[k] = append(slices.Clone(cycle[i:]), cycle[:i]...)
			}
		}
	}
}

// shortest is the shortest circle from a node of a knot back to it.
func (g *graph) shortest(from int, inside map[int]bool) []Key {
	came := map[int]int{}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		for _, m := range g.next[n] {
			if m == from {
				cycle := []Key{g.keys[n]}
				for ; n != from; n = came[n] {
					cycle = append(cycle, g.keys[came[n]])
				}
				slices.Reverse(cycle)
				return cycle
			}
			if _, seen := came[m]; !seen && inside[m] {
				came[m] = n
				queue = append(queue, m)
			}
		}
	}
	panic("spec: a knot without a circle")
}
