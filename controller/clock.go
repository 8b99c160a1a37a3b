package controller

import "time"

// Clamped gives the history with times that can be trusted from now on.
//
// A time that comes from a ledger is that of the wall clock, which may have been
// set since: one that lies in the future would hold up a start until then. So it
// is taken to be now. And all get a monotonic reading (see package time), by
// which they are compared afterwards: no clock that is set, and no suspend,
// during the life of the controller moves them.
func (h History) Clamped(now time.Time) History {
	next := History{keys: make([]*KeyHistory, len(h.keys))}
	for i, k := range h.keys {
		c := k.clone()
		c.CrashedAt = clamp(c.CrashedAt, now)
		c.RestartAskedAt, c.SuspendedAt = clamp(c.RestartAskedAt, now), clamp(c.SuspendedAt, now)
		if r := c.Replacement; r != nil {
			c.Replacement = &Replacement{Hash: r.Hash, Since: clamp(r.Since, now), GivenUp: r.GivenUp, Spec: r.Spec}
		}
		for j := range c.Instances {
			c.Instances[j].StartedAt = clamp(c.Instances[j].StartedAt, now)
		}
		for j := range c.Probes {
			st := &c.Probes[j]
			st.Since, st.AskedAt, st.FailedAt = clamp(st.Since, now), clamp(st.AskedAt, now), clamp(st.FailedAt, now)
			st.Busy = false // whoever was asked, the answer does not come here
		}
		next.keys[i] = c
	}
	return next
}

// clamp counts back from now by the wall clock. It leaves the zero time alone.
func clamp(t, now time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	ago := now.Round(0).Sub(t.Round(0)) // without monotonic readings
	return now.Add(-max(ago, 0))
}
