package source

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// vanish takes in that entries are not there any more. What they held is taken
// out of all of them first: else the content of one that vanishes too would, for
// a moment, stand for a key that another one held before it, and be what is held.
func (c *catalog) vanish(gone []*file, now time.Time) {
	for _, f := range gone {
		for k := range f.claims {
			c.claims.drop(f, k)
		}
	}
	for _, f := range gone {
		c.remove(f, now)
	}
}

func (c *catalog) remove(f *file, now time.Time) {
	c.stopWaiting(f)
	c.newDirs = c.deps.replace(f, nil) || c.newDirs
	if len(f.claims) > 0 {
		c.left[f.name] = f.claims
	}
	c.forget[f.path] = orphan{at: now.Add(c.holds.deleteHold), keys: slices.Collect(maps.Keys(f.claims))}
	c.adopt(f, interpreted{}, now)
	delete(c.files, f.name)
}

// orphan is a path that the memory has and the directory has not.
type orphan struct {
	at   time.Time  // when it is forgotten, if it does not come back
	keys []spec.Key // what it held
}

// moved tells whether something of what it held is in another file now. Then the
// memory is to let go of it at once: a controller that found the directory gone
// would take it for a twin of that file, and what it says may be old. Nothing is
// stopped for that: where the directory is gone, nothing is known to be unwanted.
func (o orphan) moved(c claims) bool {
	return slices.ContainsFunc(o.keys, func(k spec.Key) bool { return len(c[k]) > 0 })
}

// hold gives the entry of a held key the time that it is held until.
func (c *catalog) hold(k spec.Key) {
	e := *c.table.current[k]
	e.HeldUntil = c.holds.until(k)
	c.put(&e)
}

// settle ends a step: everything that was seen together.
func (c *catalog) settle(now time.Time) {
	if c.fresh > 0 && len(c.table.current) == len(c.holds.keys) {
		for _, k := range c.holds.lengthen(now) {
			c.hold(k)
		}
	}
	c.fresh = 0
}

// suspend lets nothing count as gone any more, held keys included.
//
// Files that cannot be seen are not waited for either; they are read anew when
// they can be.
func (c *catalog) suspend(unseen func(*file) bool) {
	for f := range c.waiting {
		if unseen(f) {
			c.stopWaiting(f)
			f.st = stamp{}
		}
	}
	if c.holds.suspended {
		return
	}
	c.holds.suspend()
	c.holdAll()
}

// resume lets what is missing count as gone again, after a hold. That goes for
// keys that were never seen too: this may be the first read that succeeds.
func (c *catalog) resume(now time.Time) {
	if !c.holds.suspended {
		return
	}
	c.holdUnknownUntil = now.Add(c.holds.deleteHold)
	c.holds.resume(now)
	c.holdAll()
}

func (c *catalog) holdAll() {
	for k := range c.holds.keys {
		c.hold(k)
	}
}

// prune drops what is believed to be gone.
func (c *catalog) prune(now time.Time) {
	for _, k := range c.holds.over(now) {
		c.replaced(k, nil)
		c.table.drop(k)
	}
	for name, claims := range c.left {
		if !c.holdsAny(claims) {
			delete(c.left, name)
			// Another file has what it held, or it is believed to be gone.
			c.forgetNow(c.places.path(name))
		}
	}
	for path, o := range c.forget {
		if o.moved(c.claims) || !c.holds.suspended && !now.Before(o.at) {
			c.forgetNow(path)
		}
	}
}

// forgetNow has the memory let go of a file that has vanished.
func (c *catalog) forgetNow(path string) {
	if _, vanished := c.forget[path]; vanished {
		c.memory.Forget(path)
		delete(c.forget, path)
	}
}

func (c *catalog) holdsAny(claims map[spec.Key]*spec.Entry) bool {
	for k := range claims {
		if _, held := c.holds.keys[k]; held {
			return true
		}
	}
	return false
}

// unseen are the files that a pass did not see, by name.
func (c *catalog) unseen(pass uint64) []*file {
	var gone []*file
	for _, f := range c.files {
		if f.pass != pass {
			gone = append(gone, f)
		}
	}
	slices.SortFunc(gone, func(a, b *file) int { return strings.Compare(a.name, b.name) })
	return gone
}

// covered tells whether no key would be missing without the given files, and
// none is held.
func (c *catalog) covered(gone []*file) bool {
	without := make(map[*file]struct{}, len(gone))
	for _, f := range gone {
		without[f] = struct{}{}
	}
	for _, f := range gone {
		for k := range f.claims {
			if !slices.ContainsFunc(c.claims[k], func(cl claim) bool { _, out := without[cl.file]; return !out }) {
				return false
			}
		}
	}
	return len(c.holds.keys) == 0
}
