package source

import "time"

const (
	// restTrusted is how long a file that nothing can be said about must have
	// been unchanged, by its own times, to be read at once.
	restTrusted = 2 * time.Second
	// restSeen is how long it must have been seen unchanged otherwise. The
	// file's times alone do not do: a server's clock may run behind.
	restSeen = 100 * time.Millisecond
	// restHeldOpen is how long a file that is open for writing must have been
	// unchanged to be read all the same: somebody forgot to close it.
	restHeldOpen = 30 * time.Second

	// tickFine and tickCoarse are the steps in which file times move: a timer
	// tick of at most 10 ms (before Linux 6.13), or whole seconds, two of them
	// on FAT.
	tickFine   = 20 * time.Millisecond
	tickCoarse = 2 * time.Second

	retryFirst = 5 * time.Millisecond
	retryMost  = time.Second
)

// rest is since when a file has been seen with the same stamp.
type rest struct {
	st    stamp
	since time.Time
}

// rested tells whether a file whose writers cannot be ruled out has been left
// alone for long enough to be read. heldOpen says that there is a writer. seen
// is what earlier looks saw.
func rested(st stamp, seen rest, heldOpen bool, now time.Time) bool {
	unchanged, byClock := restSeen, restTrusted
	if heldOpen {
		unchanged, byClock = restHeldOpen, restHeldOpen
	}
	if seen.st == st && now.Sub(seen.since) >= unchanged {
		return true
	}
	return now.Sub(st.lastChange()) >= byClock
}

// racy tells whether a file that was read at the given time could have changed
// since without another stamp: within the tick that its times show.
func racy(st stamp, read time.Time) bool {
	if st == (stamp{}) {
		return false
	}
	tick := tickFine
	if st.mtime%int64(time.Second) == 0 {
		tick = tickCoarse
	}
	return read.Sub(st.lastChange()) < tick
}

// nextRetry doubles the time between two looks at a busy file.
func nextRetry(last time.Duration) time.Duration {
	if last == 0 {
		return retryFirst
	}
	return min(2*last, retryMost)
}
