package source

import "time"

// showBusy is for how long a file may be busy before it stands in the sets as
// a doubt. It must be less than the shortest hold, so that a key that moves
// into a file which is being written is not believed to be gone.
const showBusy = 200 * time.Millisecond

// wait makes a file be looked at again soon.
func (c *catalog) wait(f *file, busy []busyFile, now time.Time) {
	for _, b := range busy {
		if c.rests[b.path].st != b.st {
			c.rests[b.path] = rest{b.st, now}
		}
	}
	if f.busy == nil {
		f.busy = &busyState{since: now}
		c.waiting[f] = struct{}{}
	}
	f.busy.delay = nextRetry(f.busy.delay)
	f.busy.at = now.Add(f.busy.delay)
	if !f.busy.shown && (!c.complete || now.Sub(f.busy.since) >= showBusy) {
		f.busy.shown = true
		c.report.about(f)
	}
}

// hurry makes the next wait for a file a short one: something has moved.
func (c *catalog) hurry(name string) {
	if f := c.files[name]; f != nil && f.busy != nil {
		f.busy.delay = 0
	}
}

func (c *catalog) stopWaiting(f *file) {
	if f.busy == nil {
		return
	}
	shown := f.busy.shown
	f.busy = nil
	delete(c.waiting, f)
	if len(c.waiting) == 0 {
		clear(c.rests)
	}
	if shown {
		c.report.about(f)
	}
}

// due names the files that are to be looked at again by now.
func (c *catalog) due(now time.Time) []string {
	var names []string
	for f := range c.waiting {
		if !now.Before(f.busy.at) {
			names = append(names, f.name)
		}
	}
	return names
}

// nextLook is the time of the next look at a busy file; zero if none is.
func (c *catalog) nextLook() time.Time {
	var next time.Time
	for f := range c.waiting {
		if next.IsZero() || f.busy.at.Before(next) {
			next = f.busy.at
		}
	}
	return next
}
