//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// planner makes the stream of operations. It knows what it has asked for and
// nothing of what came of it, so that the stream depends on the seed alone.
type planner struct {
	rand   *rand.Rand
	number int // of the round
	revs   int // the last revision
	works  [keys]*work
	slot   [keys]int // which file a workload is in
	names  [slots]string
	broken [slots]bool

	noDir   bool // the directory is away
	down    bool // the controller is
	amnesia bool // the state was dropped and no controller has written it anew

	// Of the round.
	ops     []op
	altered [keys]bool
	touched [slots]bool
}

func newPlanner(seed uint64) *planner {
	p := &planner{rand: rand.New(rand.NewPCG(seed, 0x6368616f73)), down: true}
	for s := range p.names {
		p.names[s] = fmt.Sprintf("f%d.yaml", s)
	}
	return p
}

// first is the round that sets up: some workloads, and a controller.
func (p *planner) first() round {
	p.begin()
	for k := range keys {
		if p.chance(3, 4) {
			p.works[k], p.slot[k] = p.fresh(k), p.rand.IntN(slots)
			p.altered[k] = true
		}
	}
	p.emit(op{kind: opMakeDir, key: -1, writes: p.all(byRename)})
	p.launch()
	return p.end()
}

// next is the next round.
func (p *planner) next() round {
	p.begin()
	for range 4 + p.rand.IntN(12) {
		m := pickOne(p.rand, moves)
		m.do(p)
	}
	// A quiet point has a controller and a directory; it may have broken files.
	p.makeDir()
	if p.down {
		p.launch()
	}
	if p.chance(3, 4) {
		p.mend()
	}
	return p.end()
}

func (p *planner) begin() {
	p.number++
	p.ops, p.altered, p.touched = nil, [keys]bool{}, [slots]bool{}
}

func (p *planner) end() round {
	r := round{number: p.number, ops: p.ops, altered: p.altered}
	for k, w := range p.works {
		if w != nil {
			c := *w
			r.want[k] = &c
		}
	}
	return r
}

// emit adds an operation, mostly without a pause after it.
func (p *planner) emit(o op) {
	switch p.rand.IntN(6) {
	case 0:
		o.pause = time.Duration(p.rand.IntN(600)) * time.Millisecond
	case 1, 2:
		o.pause = time.Duration(p.rand.IntN(60)) * time.Millisecond
	}
	p.ops = append(p.ops, o)
}

func (p *planner) chance(n, of int) bool { return p.rand.IntN(of) < n }

func (p *planner) manner() manner {
	return [...]manner{byRename, byRename, inPlace, inHalves, anew}[p.rand.IntN(5)]
}

// fresh is a new revision of a workload.
func (p *planner) fresh(key int) *work {
	p.revs++
	w := &work{
		key: key, rev: p.revs, shape: p.rand.IntN(len(shapes)), replicas: 1,
		keep: p.chance(1, 3), port: p.chance(1, 4),
		policy:  [...]string{"Always", "Always", "OnFailure", "Never"}[p.rand.IntN(4)],
		backoff: [...]string{"0s", "20ms", "100ms"}[p.rand.IntN(3)],
	}
	if p.chance(1, 3) {
		w.replicas = p.rand.IntN(4)
	}
	// With Group what has left group and session stays after a stop: a leftover
	// by choice, which is not what is looked for here. The manifest that is in
	// force at the stop decides, so a key has the one or the other for good.
	if groups(key) {
		for shapes[w.shape].escapes {
			w.shape = p.rand.IntN(len(shapes))
		}
		w.group = p.chance(1, 2)
	}
	return w
}

// groups says that a key may have killMode: Group.
func groups(key int) bool { return key >= keys-2 }

// render is the content of a file; empty where nothing is in it.
func (p *planner) render(slot int) string {
	var docs []string
	for k, w := range p.works {
		if w != nil && p.slot[k] == slot {
			docs = append(docs, w.manifest())
		}
	}
	if len(docs) == 0 {
		return ""
	}
	return fmt.Sprintf("# %d\n", p.rand.IntN(1000)) + strings.Join(docs, "---\n")
}

// save is the write that brings a file up to date.
func (p *planner) save(slot int) write {
	p.touched[slot] = true
	return write{p.names[slot], p.render(slot), p.manner()}
}

// all writes every file.
func (p *planner) all(how manner) (ws []write) {
	for s := range p.names {
		if c := p.render(s); c != "" {
			ws = append(ws, write{p.names[s], c, how})
		}
	}
	return ws
}

// some gives a workload that satisfies ok, or -1.
func (p *planner) some(ok func(k int) bool) int {
	var have []int
	for k := range keys {
		if ok(k) {
			have = append(have, k)
		}
	}
	if len(have) == 0 {
		return -1
	}
	return have[p.rand.IntN(len(have))]
}

// editable says that the file of a workload may be changed now.
func (p *planner) editable(k int) bool {
	return p.works[k] != nil && !p.broken[p.slot[k]] && !p.noDir
}

// anyBroken says that a file is broken.
func (p *planner) anyBroken() bool { return slices.Contains(p.broken[:], true) }
