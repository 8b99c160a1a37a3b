package controller

import (
	"github.com/proc-controller/proc-controller/spec"
)

// dependencyGraph tells which workloads depend on one another in a circle, also
// those whose manifest is gone. It looks at no more of the graph than can be
// reached from what it is asked for. What is told to people of circles among
// manifests, spec.Orders finds.
type dependencyGraph struct {
	dependsOn func(spec.Key) []spec.Key
	nodes     map[spec.Key]*dependencyNode
	stack     []*dependencyNode // whose circle is not complete yet
}

// dependencyNode is one workload, with the numbers of Tarjan's algorithm
// (Depth-first search and linear graph algorithms, 1972).
type dependencyNode struct {
	dependsOn  []spec.Key
	index, low int
	circle     *circle // nil while it is on the stack
}

// circle is a strongly connected component: workloads each of which depends on
// each other one, or a single one.
type circle struct {
	// depth is how many circles the longest chain has that begins with it.
	depth int
}

func newDependencyGraph(dependsOn func(spec.Key) []spec.Key) *dependencyGraph {
	return &dependencyGraph{dependsOn: dependsOn, nodes: map[spec.Key]*dependencyNode{}}
}

// node gives a workload whose circle is known.
func (g *dependencyGraph) node(k spec.Key) *dependencyNode {
	if n := g.nodes[k]; n != nil {
		return n
	}
	return g.visit(k)
}

func (g *dependencyGraph) visit(k spec.Key) *dependencyNode {
	n := &dependencyNode{dependsOn: g.dependsOn(k), index: len(g.nodes), low: len(g.nodes)}
	g.nodes[k] = n
	g.stack = append(g.stack, n)
	for _, d := range n.dependsOn {
		switch m := g.nodes[d]; {
		case m == nil:
			n.low = min(n.low, g.visit(d).low)
		case m.circle == nil:
			n.low = min(n.low, m.index)
		}
	}
	if n.low == n.index {
		g.close(n)
	}
	return n
}

// close makes a circle of what is on the stack from n on. The circles that it
// depends on are complete.
func (g *dependencyGraph) close(n *dependencyNode) {
	first := len(g.stack) - 1
	for g.stack[first] != n {
		first--
	}
	members := g.stack[first:]
	c := &circle{depth: 1}
	for _, m := range members {
		m.circle = c
	}
	for _, m := range members {
		for _, d := range m.dependsOn {
			if other := g.nodes[d].circle; other != c {
				c.depth = max(c.depth, other.depth+1)
			}
		}
	}
	g.stack = g.stack[:first]
}

// circular says that two workloads are one, or depend on each other.
func (g *dependencyGraph) circular(a, b spec.Key) bool { return g.node(a).circle == g.node(b).circle }
