package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestConflictsOfOrder(t *testing.T) {
	for name, c := range map[string]struct {
		manifests []string // of a, b, …
		want      []string
	}{
		"none":    {[]string{server("a", ""), agents("b", "mcpServers: [{name: a}]"), agents("c", "dependsOn: [{kind: Agent, name: b}]")}, nil},
		"missing": {[]string{agents("a", "dependsOn: [{kind: Agent, name: zzzz}], mcpServers: [{name: x}]")}, []string{"Agent/a DependencyMissing spec.dependsOn[0]: no manifest that is checked here defines Agent/zzzz", "Agent/a DependencyMissing spec.mcpServers[0]: no manifest that is checked here defines MCPServer/x"}},
		"mistyped": {[]string{server("files", ""), server("file-system", ""), agents("a", "mcpServers: [{name: fiels}]")}, []string{
			"Agent/a DependencyMissing spec.mcpServers[0]: no manifest that is checked here defines MCPServer/fiels: did you mean MCPServer/files?",
		}},
		"of the other kind": {[]string{server("x", ""), agents("z", ""), agents("a", "dependsOn: [{kind: Agent, name: x}]")}, []string{
			"Agent/a DependencyMissing spec.dependsOn[0]: no manifest that is checked here defines Agent/x: did you mean MCPServer/x?",
		}},
		"a server in both lists": {[]string{agents("a", "dependsOn: [{kind: MCPServer, name: x}], mcpServers: [{name: x}, {name: z}]")}, []string{
			"Agent/a DependencyMissing spec.dependsOn[0]: no manifest that is checked here defines MCPServer/x",
			"Agent/a DependencyMissing spec.mcpServers[1]: no manifest that is checked here defines MCPServer/z",
		}},
		"in a manifest that is broken": {[]string{agents("a", "mcpServers: [{name: broken}]")}, nil},
		"never completes": {[]string{server("a", ""), server("b", "dependsOn: [{kind: MCPServer, name: a, condition: Completed}, {kind: MCPServer, name: c, condition: Completed}]"), server("c", "restartPolicy: OnFailure")}, []string{
			"MCPServer/b DependencyNeverCompletes spec.dependsOn[0]: MCPServer/a never completes: its restartPolicy is Always",
		}},
		"circle": {[]string{agents("a", "mcpServers: [{name: b}]"), server("b", "dependsOn: [{kind: Agent, name: a}]"), agents("c", "mcpServers: [{name: b}]")}, []string{
			"Agent/a DependencyCycle the dependencies go in a circle: Agent/a → MCPServer/b → Agent/a",
			"MCPServer/b DependencyCycle the dependencies go in a circle: MCPServer/b → Agent/a → MCPServer/b",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var all []Located
			for i, m := range c.manifests {
				all = append(all, Located{decodeOne(t, m), "x.yaml", i + 1})
			}
			var got []string
			for _, f := range Conflicts(all, Key{KindMCPServer, "broken"}) {
				got = append(got, f.Key.String()+" "+string(f.Finding.Reason)+" "+f.Finding.Message)
				if l := all[f.Finding.Line-1]; l.Object.Key() != f.Key || f.Finding.File != "x.yaml" {
					t.Errorf("not at its place: %+v", f)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func server(name, more string) string {
	return strings.Replace(healthy(more), "name: a", "name: "+name, 1)
}

func agents(name, more string) string {
	return strings.Replace(agent(more), "name: a", "name: "+name, 1)
}

// node is an agent that depends on others, all by number.
func node(n int, on ...int) Located {
	o := &Object{Kind: KindAgent, Metadata: Metadata{Name: nodeName(n)}}
	for _, m := range on {
		o.Spec.DependsOn = append(o.Spec.DependsOn, Dependency{Kind: KindAgent, Name: nodeName(m)})
	}
	return Located{Object: o, File: "x.yaml", Line: 1}
}

func nodeName(n int) string { return fmt.Sprintf("n%05d", n) }

// ordersOfNodes are the Orders of nodes that are all defined.
func ordersOfNodes(all []Located) map[Key]Order {
	byKey := make(map[Key]*Object, len(all))
	for _, l := range all {
		byKey[l.Object.Key()] = l.Object
	}
	return Orders(all, func(k Key) (*Object, bool) { return byKey[k], byKey[k] != nil }, maps.Keys(byKey))
}

// A node has a circle exactly if it can be come back to, and what is told is
// one. It is the same whatever order the nodes come in.
func TestCycles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(rt, "nodes")
		edges := make([][]int, n)
		var all []Located
		for i := range n {
			edges[i] = rapid.SliceOfNDistinct(rapid.IntRange(0, n-1).Filter(func(j int) bool { return n == 1 || j != i }), 0, min(3, n-1), rapid.ID).Draw(rt, "on")
			all = append(all, node(i, edges[i]...))
		}
		orders := ordersOfNodes(all)
		for i, l := range all {
			k := l.Object.Key()
			order, wrong := orders[k]
			if wrong != leadsTo(edges, i, i) {
				rt.Fatalf("%v: circle %v", k, order.Cycle)
			}
			if !wrong {
				continue
			}
			if order.Cycle[0] != k || len(order.Findings) != 1 {
				rt.Fatalf("%v: %+v", k, order)
			}
			for j, from := range order.Cycle {
				to := order.Cycle[(j+1)%len(order.Cycle)]
				if !slices.ContainsFunc(all, func(l Located) bool {
					return l.Object.Key() == from && slices.ContainsFunc(l.Object.Spec.DependsOn, func(d Dependency) bool { return d.Key() == to })
				}) {
					rt.Fatalf("%v: %v does not depend on %v in %v", k, from, to, order.Cycle)
				}
			}
		}
		shuffled := rapid.Permutation(all).Draw(rt, "shuffled")
		if diff := cmp.Diff(orders, ordersOfNodes(shuffled)); diff != "" {
			rt.Fatalf("in another order (-first +then):\n%s", diff)
		}
	})
}

// leadsTo says whether there is a way of one step or more.
func leadsTo(edges [][]int, from, to int) bool {
	seen := make([]bool, len(edges))
	for todo := []int{from}; len(todo) > 0; todo = todo[1:] {
		for _, m := range edges[todo[0]] {
			if m == to {
				return true
			}
			if !seen[m] {
				seen[m] = true
				todo = append(todo, m)
			}
		}
	}
	return false
}

// However tangled they are, many workloads cost little, and each is told.
func TestOrdersOfMany(t *testing.T) {
	const n = 10000
	for name, on := range map[string]func(i int) []int{
		"chain": func(i int) []int { return []int{i + 1} },
		"ring":  func(i int) []int { return []int{(i + 1) % n} },
		"pairs": func(i int) []int { return []int{i ^ 1} },
		"knot":  func(i int) []int { return []int{(i + 1) % n, (i * 7) % n, (i + n/2) % n} },
		"lost":  func(i int) []int { return []int{n + i} },
	} {
		t.Run(name, func(t *testing.T) {
			all := make([]Located, 0, n)
			for i := range n {
				all = append(all, node(i, slices.DeleteFunc(on(i), func(j int) bool { return j == i })...))
			}
			start := time.Now()
			orders := ordersOfNodes(all)
			// A tenth of a second each on an idle machine; what is quadratic
			// takes minutes.
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("it took %v", d)
			}
			want := n
			if name == "chain" {
				want = 1 // its end is missing
			}
			if len(orders) != want {
				t.Errorf("%d are told, want %d", len(orders), want)
			}
			for k, o := range orders {
				if len(o.Findings) != 1 || len(o.Findings[0].Message) > 400 {
					t.Fatalf("%v: %v", k, o.Findings)
				}
			}
		})
	}
}
