package source

import (
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

const (
	// DefaultDeleteHold is how long it takes to believe that everything is gone.
	DefaultDeleteHold = 5 * time.Second
	// holdOne is how long it takes to believe that one key is gone.
	holdOne = time.Second
)

// hold is a key that vanished and is not believed to be gone yet.
type hold struct {
	since time.Time
	// long says that it vanished together with everything else.
	long bool
}

// until is the time after which the key is believed to be gone.
func (h hold) until(deleteHold time.Duration) time.Time {
	if h.long {
		return h.since.Add(deleteHold)
	}
	return h.since.Add(min(holdOne, deleteHold))
}

// holds are the keys that vanished, since when. While suspended is set (the
// directory is not there, or not the one that it was) none of them counts as
// gone at all.
type holds struct {
	keys       map[spec.Key]hold
	suspended  bool
	deleteHold time.Duration
}

// begin holds a key from now on.
func (h *holds) begin(k spec.Key, now time.Time) { h.keys[k] = hold{since: now} }

// until is the HeldUntil of a key: zero if it is not held, or if none is.
func (h *holds) until(k spec.Key) time.Time {
	held, ok := h.keys[k]
	if !ok || h.suspended {
		return time.Time{}
	}
	return held.until(h.deleteHold)
}

// lengthen makes the hold of every key long that is not over, if there are two
// or more of them: nothing is left in the source, and what vanished bit by bit
// within the hold vanished in one step. It returns what was changed.
//
// git checkout is why: it unlinks and re-creates file by file, so that no
// single event shows the whole.
func (h *holds) lengthen(now time.Time) []spec.Key {
	var open []spec.Key
	for k, held := range h.keys {
		if now.Before(held.until(h.deleteHold)) {
			open = append(open, k)
		}
	}
	if len(open) < 2 {
		return nil
	}
	for _, k := range open {
		h.keys[k] = hold{since: h.keys[k].since, long: true}
	}
	return open
}

// suspend stops the clock: nothing is gone until resume.
func (h *holds) suspend() { h.suspended = true }

// resume starts the clock anew for what is still held, and for long: a
// directory that has just come back may still be filled.
func (h *holds) resume(now time.Time) {
	h.suspended = false
	for k := range h.keys {
		h.keys[k] = hold{since: now, long: true}
	}
}

// over takes out the keys whose hold has passed.
func (h *holds) over(now time.Time) []spec.Key {
	if h.suspended {
		return nil
	}
	var over []spec.Key
	for k, held := range h.keys {
		if !now.Before(held.until(h.deleteHold)) {
			over = append(over, k)
			delete(h.keys, k)
		}
	}
	return over
}
