package source

import (
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// catalog is everything that is known of the directory. It does no I/O and
// reads no clock: readings and the time come in, sets go out.
type catalog struct {
	places places
	memory Memory

	files   map[string]*file // by name in the directory
	waiting map[*file]struct{}
	rests   map[string]rest
	deps    dependents
	claims  claims
	table   table
	order   order
	holds   holds
	fresh   int // keys that vanished in the step under way
	// left is what vanished files held, by name, while a key of it is held.
	left   map[string]map[spec.Key]*spec.Entry
	forget map[string]orphan
	report report

	complete         bool
	holdUnknownUntil time.Time
	// newDirs says that deps has directories which are not watched yet.
	newDirs bool
}

func newCatalog(at places, memory Memory, deleteHold time.Duration) *catalog {
	return &catalog{
		places: at, memory: memory,
		files:   make(map[string]*file),
		waiting: make(map[*file]struct{}),
		rests:   make(map[string]rest),
		deps:    newDependents(),
		claims:  make(claims),
		table:   newTable(),
		order:   order{dependents: make(map[spec.Key]struct{})},
		holds:   holds{keys: make(map[spec.Key]hold), deleteHold: deleteHold},
		left:    make(map[string]map[spec.Key]*spec.Entry),
		forget:  make(map[string]orphan),
		report:  newReport(),
	}
}

// apply takes in a reading of an entry that is there.
func (c *catalog) apply(rd *reading, now time.Time) {
	f := c.files[rd.name]
	if f == nil {
		f = c.discover(rd, now)
	}
	f.st, f.real, f.link, f.suspect = rd.st, rd.real, rd.link, false
	delete(c.forget, f.path)
	c.newDirs = c.deps.replace(f, rd.deps) || c.newDirs
	if rd.outcome == outcomeBusy {
		c.wait(f, rd.busy, now)
		return
	}
	c.stopWaiting(f)
	if rd.outcome == outcomeRefused {
		c.adopt(f, refused(f, rd), now)
		return
	}
	f.suspect = rd.racy(now)
	in := interpret(f.path, c.places.base(f.name), rd, f.claims)
	if in.doubt == nil && !rd.known && !rd.unmet() {
		c.memory.Remember(f.path, rd.data)
	}
	c.adopt(f, in, now)
}

// discover enters a file that was not known, with what it held: a moment ago,
// if it is back within the hold (many programs save by unlinking and creating
// anew, and may fail in between), else what the memory has of it.
func (c *catalog) discover(rd *reading, now time.Time) *file {
	f := &file{name: rd.name, path: c.places.path(rd.name)}
	c.files[rd.name] = f
	in := interpreted{claims: make(map[spec.Key]*spec.Entry)}
	for i := range rd.recalled {
		if d := &rd.recalled[i]; d.Object != nil {
			in.claims[d.Key] = entryOf(d, c.places.base(f.name), nil)
		}
	}
	for k, e := range c.left[rd.name] {
		if _, held := c.holds.keys[k]; held {
			in.claims[k] = e
		}
	}
	delete(c.left, rd.name)
	if len(in.claims) > 0 {
		c.adopt(f, in, now)
	}
	return f
}

// recall enters a file that cannot be reached as the memory has it.
func (c *catalog) recall(rd *reading, why *refusal, now time.Time) {
	f := c.discover(rd, now)
	c.newDirs = c.deps.replace(f, rd.deps) || c.newDirs
	problem := spec.Finding{File: f.path, Reason: why.reason, Message: why.message}
	c.adopt(f, interpreted{claims: kept(f.claims, problem)}, now)
}

// refused is what a file means that was not read: what it meant before.
func refused(f *file, rd *reading) interpreted {
	r := rd.refusal
	why := spec.Finding{File: f.path, Reason: r.reason, Message: r.message}
	in := interpreted{claims: kept(f.claims, why), notices: []spec.Finding{why}}
	f.suspect = !rd.alien
	switch {
	case !rd.alien:
		in.doubt = &spec.Doubt{File: f.path, Reason: r.reason, Message: r.message, All: true}
	case len(f.claims) > 0:
		in.doubt = doubtOf(f.path, nil, why, f.claims)
	}
	return in
}

// adopt makes a file mean what it was found to mean.
func (c *catalog) adopt(f *file, in interpreted, now time.Time) {
	former := f.claims
	f.claims = in.claims
	for k, e := range in.claims {
		if old := former[k]; old != nil && sameEntry(old, e) {
			in.claims[k] = old
			continue
		}
		c.claims.put(f, e)
		c.refresh(k, now)
	}
	for k := range former {
		if in.claims[k] == nil {
			c.claims.drop(f, k)
			c.refresh(k, now)
		}
	}
	if !sameDoubt(f.doubt, in.doubt) || !slices.Equal(f.notices, in.notices) {
		f.doubt, f.notices = in.doubt, in.notices
		c.report.about(f)
	}
}

// refresh makes the entry of a key what the claims to it say, or holds it.
func (c *catalog) refresh(k spec.Key, now time.Time) {
	win, current := c.claims.winner(k), c.table.current[k]
	c.report.twins(k, c.claims.twins(k))
	if win != nil {
		delete(c.holds.keys, k)
		if current == nil || !sameEntry(current, win) {
			c.put(win)
		}
		return
	}
	if _, held := c.holds.keys[k]; held || current == nil {
		return
	}
	c.holds.begin(k, now)
	c.fresh++
	c.hold(k)
}

// put replaces the entry of a key, with what hangs on it.
func (c *catalog) put(e *spec.Entry) {
	c.replaced(e.Key, e)
	c.table.put(e)
}

// replaced tells what hangs on the entries that one is about to be another, or
// none.
func (c *catalog) replaced(k spec.Key, e *spec.Entry) {
	old := c.table.current[k]
	c.report.entry(old, e)
	c.order.entry(k, old, e)
}

// begin completes the first read.
func (c *catalog) begin(now time.Time) {
	if !c.complete {
		c.complete = true
		c.holdUnknownUntil = now.Add(c.holds.deleteHold)
	}
}

// set gives out what is known; nil if nothing has changed since the last one.
func (c *catalog) set() *spec.Set {
	c.order.settle(&c.table)
	if len(c.table.changed) == 0 && !c.report.changed {
		return nil
	}
	doubts, notices := c.report.lists()
	return &spec.Set{
		Complete:         c.complete,
		Entries:          c.table.commit(),
		Doubts:           doubts,
		Notices:          notices,
		HoldUnknownUntil: c.holdUnknownUntil,
	}
}
