package source

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// order waits until the reasons of what is wrong with the order of a server
// are as wanted.
func (r *rig) order(name string, reasons ...spec.Reason) *spec.Entry {
	r.Helper()
	return r.until(fmt.Sprintf("%s with the order %v", name, reasons), func(s *spec.Set) bool {
		e := s.Lookup(server(name))
		return e != nil && slices.EqualFunc(e.Order, reasons, func(f spec.Finding, r spec.Reason) bool { return f.Reason == r })
	}).Lookup(server(name))
}

func on(name string, more ...string) string {
	condition := ""
	for _, c := range more {
		condition = ", condition: " + c
	}
	return "dependsOn: [{kind: MCPServer, name: " + name + condition + "}]"
}

// What an entry depends on changes what is said of it, and nothing else: its
// object is the newest.
func TestOrderFollowsOthers(t *testing.T) {
	r := start(t, newDir(t))
	r.write("a.yaml", manifest("a", "1", on("b")))
	r.write("c.yaml", manifest("c", "1"))
	e := r.order("a", spec.ReasonDependencyMissing)
	if f := e.Order[0]; f.Message != "spec.dependsOn[0]: no manifest defines MCPServer/b" || filepath.Base(f.File) != "a.yaml" || f.Line != 1 {
		t.Errorf("finding %+v", f)
	}
	if e.Object == nil || len(e.Problems) > 0 {
		t.Errorf("not accepted: %s", show(r.last))
	}
	c := r.order("c") // nothing is wrong with it

	r.write("b.yaml", "{") // somebody writes it, with a mistake
	r.notice(spec.ReasonInvalid, "b.yaml", "")
	r.order("a", spec.ReasonDependencyMissing)
	r.write("b.yaml", manifest("b", "1", "comand: [x]")) // defined, if not well
	r.order("a")
	r.write("b.yaml", manifest("b", "1", on("a")))
	a, b := r.order("a", spec.ReasonDependencyCycle), r.order("b", spec.ReasonDependencyCycle)
	if !slices.Equal(a.Cycle, []spec.Key{server("a"), server("b")}) || !slices.Equal(b.Cycle, []spec.Key{server("b"), server("a")}) {
		t.Errorf("circles %v and %v", a.Cycle, b.Cycle)
	}
	if a.Object != e.Object || a.Hash != e.Hash || len(a.Problems) > 0 || b.Object == nil {
		t.Errorf("changed: %s", show(r.last))
	}
	r.write("a.yaml", manifest("a", "2", on("b"))) // what there is to say is said of the newer one too
	r.arg("a", "2")
	r.order("a", spec.ReasonDependencyCycle)
	r.write("b.yaml", manifest("b", "2"))
	if a := r.order("a"); a.Cycle != nil {
		t.Errorf("a circle is left: %v", a.Cycle)
	}
	r.write("a.yaml", manifest("a", "1", on("b", "Completed")))
	r.order("a", spec.ReasonDependencyEndless)
	r.write("b.yaml", manifest("b", "2", "restartPolicy: Never"))
	r.order("a")
	if r.last.Lookup(server("c")) != c {
		t.Error("c was evaluated anew")
	}
}

// A key whose absence is not proven is not missing.
func TestOrderWaitsForTheHold(t *testing.T) {
	r := start(t, newDir(t), polling(50*time.Millisecond)) // what is gone is dropped by a pass
	r.write("b.yaml", manifest("b", "1"))
	r.write("a.yaml", manifest("a", "1", on("b")))
	r.wants("a", "b")
	r.order("a")
	r.remove("b.yaml")
	s := r.until("b held", func(s *spec.Set) bool { b := s.Lookup(server("b")); return b != nil && b.Gone() })
	if e := s.Lookup(server("a")); len(e.Order) > 0 {
		t.Errorf("told too early: %v", e.Order)
	}
	r.order("a", spec.ReasonDependencyMissing)
	if s := r.last; s.Lookup(server("b")) != nil {
		t.Errorf("told before it is believed: %s", show(s))
	}
	r.write("b.yaml", manifest("b", "1"))
	r.order("a")
}

// The object stays the one before where the newest content is broken, and so
// does what is said of its order.
func TestOrderOfWhatIsBroken(t *testing.T) {
	r := start(t, newDir(t))
	r.write("a.yaml", manifest("a", "1", on("b")))
	r.order("a", spec.ReasonDependencyMissing)
	r.write("a.yaml", manifest("a", "2", on("b"), "comand: [x]"))
	s := r.until("problems", func(s *spec.Set) bool { return len(s.Lookup(server("a")).Problems) > 0 })
	if e := s.Lookup(server("a")); len(e.Order) != 1 || e.Object.Spec.Command[1] != "1" {
		t.Errorf("%s, order %v", show(s), e.Order)
	}
	r.remove("a.yaml")
	s = r.until("a held", func(s *spec.Set) bool { a := s.Lookup(server("a")); return a != nil && a.Gone() })
	if e := s.Lookup(server("a")); len(e.Order) != 1 {
		t.Errorf("held without its order: %s", show(s))
	}
	r.wants()
}
