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

// nextRetry doubles the time between two looks at a busy file.
func nextRetry(last time.Duration) time.Duration {
	if last == 0 {
		return retryFirst
	}
	return min(2*last, retryMost)
}
