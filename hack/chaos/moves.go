//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
)

// move makes an operation, or none where it makes no sense just now.
type move struct {
	weight int
	do     func(*planner)
}

var moves = []move{
	{8, (*planner).edit},
	{4, (*planner).touch},
	{4, (*planner).scale},
	{4, (*planner).remove},
	{9, (*planner).add},
	{3, (*planner).rename},
	{4, (*planner).moveOne},
	{4, (*planner).breakOne},
	{2, (*planner).mend},
	{2, (*planner).dropDir},
	{3, (*planner).makeDir},
	{6, func(p *planner) { p.process(opKillMain) }},
	{3, func(p *planner) { p.process(opFinishMain) }},
	{5, func(p *planner) { p.process(opKillMember) }},
	{3, func(p *planner) { p.process(opFreeze) }},
	{1, func(p *planner) { p.process(opThaw) }},
	{2, (*planner).killGuard},
	{3, func(p *planner) { p.crash(opCrash) }},
	{1, func(p *planner) { p.crash(opCrashBoth) }},
	{2, (*planner).restart},
	{3, (*planner).upgrade},
	{2, (*planner).launch},
	{1, (*planner).dropState},
}

// pickOne picks by weight.
func pickOne(r *rand.Rand, from []move) move {
	total := 0
	for _, m := range from {
		total += m.weight
	}
	n := r.IntN(total)
	for _, m := range from {
		if n -= m.weight; n < 0 {
			return m
		}
	}
	panic("weights do not add up")
}

func (p *planner) edit() {
	k := p.some(p.editable)
	if k < 0 {
		return
	}
	p.works[k], p.altered[k] = p.fresh(k), true
	p.emit(op{kind: opEdit, key: k, writes: []write{p.save(p.slot[k])}})
}

func (p *planner) touch() {
	if k := p.some(p.editable); k >= 0 {
		p.emit(op{kind: opTouch, key: k, writes: []write{p.save(p.slot[k])}})
	}
}

func (p *planner) scale() {
	k := p.some(p.editable)
	if k < 0 {
		return
	}
	w := *p.works[k]
	if p.chance(1, 3) {
		w.suspend = !w.suspend
	} else {
		w.replicas = p.rand.IntN(4)
	}
	p.works[k], p.altered[k] = &w, true
	p.emit(op{kind: opScale, key: k, writes: []write{p.save(p.slot[k])}})
}

func (p *planner) remove() {
	k := p.some(p.editable)
	if k < 0 {
		return
	}
	p.works[k], p.altered[k] = nil, true
	p.emit(op{kind: opRemove, key: k, writes: []write{p.save(p.slot[k])}})
}

func (p *planner) add() {
	s := p.rand.IntN(slots)
	k := p.some(func(k int) bool { return p.works[k] == nil })
	if k < 0 || p.broken[s] || p.noDir {
		return
	}
	p.works[k], p.slot[k], p.altered[k] = p.fresh(k), s, true
	p.emit(op{kind: opAdd, key: k, writes: []write{p.save(s)}})
}

func (p *planner) rename() {
	k := p.some(p.editable)
	if k < 0 {
		return
	}
	s := p.slot[k]
	old := p.names[s]
	p.names[s] = fmt.Sprintf("f%d-%d.yaml", s, len(p.ops)+100*p.number)
	p.emit(op{kind: opRename, key: k, writes: p.order(write{name: old}, p.save(s))})
}

func (p *planner) moveOne() {
	k, to := p.some(p.editable), p.rand.IntN(slots)
	if k < 0 || to == p.slot[k] || p.broken[to] {
		return
	}
	from := p.slot[k]
	p.slot[k] = to
	p.emit(op{kind: opMove, key: k, writes: p.order(p.save(from), p.save(to))})
}

// order puts two writes in either order: for a moment both files hold a key, or
// neither does. What is written in halves takes its time, in which the key would
// be gone for longer than a deletion is held.
func (p *planner) order(a, b write) []write {
	if p.chance(1, 2) {
		return []write{b, a}
	}
	a.how, b.how = byRename, byRename
	return []write{a, b}
}

// breakOne makes a file that has not been changed in this round unusable. Which
// content of it was the last good one is then beyond doubt.
func (p *planner) breakOne() {
	k := p.some(func(k int) bool { return p.editable(k) && !p.touched[p.slot[k]] })
	if k < 0 || p.down || p.amnesia {
		return
	}
	s := p.slot[k]
	w := p.save(s)
	switch p.rand.IntN(4) {
	case 0:
		w.content = w.content[:len(w.content)*2/3] + "\n  oops: ["
	case 1:
		w.content = "{{{ not YAML\n"
	case 2:
		w.content += "  replicass: 2\n"
	case 3:
		w.content = "\n"
	}
	p.broken[s] = true
	p.emit(op{kind: opBreak, key: k, writes: []write{w}})
}

// mend makes all broken files good again.
func (p *planner) mend() {
	if p.noDir {
		return
	}
	for s := range slots {
		if p.broken[s] {
			p.broken[s] = false
			p.emit(op{kind: opMend, key: -1, writes: []write{p.save(s)}})
		}
	}
}

func (p *planner) dropDir() {
	if p.noDir || p.anyBroken() {
		return
	}
	p.noDir = true
	p.emit(op{kind: opDropDir, key: -1, pick: p.rand.IntN(2)})
}

func (p *planner) makeDir() {
	if !p.noDir {
		return
	}
	p.noDir = false
	for s := range p.touched {
		p.touched[s] = true
	}
	p.emit(op{kind: opMakeDir, key: -1, pick: p.rand.IntN(2), writes: p.all(byRename)})
}

// process does something to a process of a workload that is wanted, if only in
// vain: the plan does not know what runs.
func (p *planner) process(what kind) {
	if k := p.some(func(k int) bool { return p.works[k] != nil }); k >= 0 {
		p.emit(op{kind: what, key: k, pick: p.rand.IntN(1000)})
	}
}

func (p *planner) killGuard() {
	if !p.down {
		p.emit(op{kind: opKillGuard, key: -1})
	}
}

func (p *planner) crash(what kind) {
	if p.down {
		return
	}
	p.rememberable()
	p.down = true
	p.emit(op{kind: what, key: -1, wait: what == opCrash && p.chance(1, 2)})
	if p.chance(2, 3) {
		p.launch() // at once; otherwise something happens while it is down
	}
}

func (p *planner) launch() {
	if !p.down {
		return
	}
	p.down = false
	p.amnesia = p.amnesia && p.noDir
	p.emit(op{kind: opLaunch, key: -1})
}

func (p *planner) restart() {
	if p.down {
		return
	}
	p.rememberable()
	p.amnesia = p.amnesia && p.noDir
	p.emit(op{kind: opRestart, key: -1})
}

func (p *planner) upgrade() {
	if p.down {
		return
	}
	p.rememberable()
	p.emit(op{kind: opUpgrade, key: -1, wait: p.chance(1, 2)})
}

// rememberable sees to it that a controller which starts now can know the last
// good content of every file.
func (p *planner) rememberable() {
	if p.amnesia {
		p.mend()
	}
}

func (p *planner) dropState() {
	p.mend()
	if p.anyBroken() {
		return
	}
	p.amnesia = true
	p.emit(op{kind: opDropState, key: -1})
}
