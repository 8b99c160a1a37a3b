//go:build linux

package main

import (
	"fmt"
	"slices"
	"strconv"
)

// scene is all that is judged at a quiet point.
type scene struct {
	children   []child
	strangers  []string // complaints of the bystanders
	zombies    []proc
	programs   []proc // that run the controller's binary
	controller int
	scoped     bool
	scopes     map[string][]string // that there are, with the pids in them
	upgrade    error               // what is missing for it to be done
	guards     int                 // how many of them are beside it; -1: not known yet
}

// memory is what a run remembers from one quiet point to the next.
type memory struct {
	mains  [keys][]int       // pids, sorted
	hashes map[[2]int]string // by key and revision
}

// judge gives all that is wrong with a scene. It is pure.
func judge(want [keys]expectation, s scene, before *memory) (wrong []string) {
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	mains := map[int]child{}
	for _, c := range s.children {
		if c.main {
			mains[c.pid] = c
		}
	}
	for _, c := range s.children {
		if m, ok := mains[c.mainPID]; !ok || m.key != c.key || m.rev != c.rev {
			complain("left of a dead instance: %v", c)
		}
	}
	for k := range want {
		wrong = append(wrong, judgeKey(k, want[k], s.children, before)...)
	}
	wrong = append(wrong, samePorts(s.children)...)
	if s.scoped {
		wrong = append(wrong, judgeScopes(s)...)
	}
	if s.upgrade != nil {
		complain("an upgrade that is not done: %v", s.upgrade)
	}
	wrong = append(wrong, s.strangers...)
	for _, z := range s.zombies {
		complain("a zombie of the controller: %v", z)
	}
	if n := len(s.programs) - 1; n != s.guards && (s.guards >= 0 || n > 1) {
		complain("%d processes beside the controller run its program, want %d: %v", n, s.guards, s.programs)
	}
	if !slices.ContainsFunc(s.programs, func(p proc) bool { return p.pid == s.controller }) {
		complain("the controller, pid %d, has ended", s.controller)
	}
	return wrong
}

// judgeKey holds the main processes of one workload against what is wanted.
func judgeKey(k int, want expectation, children []child, before *memory) (wrong []string) {
	complain := func(format string, args ...any) {
		wrong = append(wrong, nameOf(k)+": "+fmt.Sprintf(format, args...))
	}
	var pids []int
	for _, c := range children {
		if c.key != k || !c.main {
			continue
		}
		pids = append(pids, c.pid)
		if want.work == nil {
			continue // the count tells
		}
		if c.rev != want.work.rev || c.value("CHAOS_REV") != strconv.Itoa(want.work.rev) {
			complain("%v runs, revision %d is wanted", c, want.work.rev)
		}
		if onExit := c.value("PROC_CONTROLLER_ON_EXIT"); (onExit == "Keep") != want.work.keep {
			complain("%v is marked %q", c, onExit)
		}
		if h := before.hashes[[2]int{k, c.rev}]; h != "" && h != c.value("PROC_CONTROLLER_SPEC") {
			complain("%v has the hash %s, an earlier one of the same revision had %s", c, c.value("PROC_CONTROLLER_SPEC"), h)
		}
	}
	if len(pids) < want.lo || len(pids) > want.hi {
		complain("%d main processes %v, want %d to %d (%s)", len(pids), pids, want.lo, want.hi, policyOf(want.work))
	}
	if want.steady && !slices.Equal(pids, before.mains[k]) {
		complain("restarted without a reason: %v ran, %v run", before.mains[k], pids)
	}
	return wrong
}

func policyOf(w *work) string {
	if w == nil {
		return "not wanted"
	}
	return w.policy
}

// samePorts finds ports that were given to two workloads.
func samePorts(children []child) (wrong []string) {
	holder := map[string]child{}
	for _, c := range children {
		ports := c.value("PROC_CONTROLLER_PORTS")
		if !c.main || ports == "" {
			continue
		}
		if other, taken := holder[ports]; taken {
			wrong = append(wrong, fmt.Sprintf("%v and %v were both given %s", c, other, ports))
		}
		holder[ports] = c
	}
	return wrong
}

// remember is what the next quiet point is held against.
func (m *memory) remember(children []child) {
	m.mains = [keys][]int{}
	for _, c := range children {
		if c.main {
			m.mains[c.key] = append(m.mains[c.key], c.pid)
			m.hashes[[2]int{c.key, c.rev}] = c.value("PROC_CONTROLLER_SPEC")
		}
	}
}
