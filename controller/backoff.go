package controller

import "time"

// leastDelay is the least time between two starts of a workload that crashes. It
// keeps a crash loop from becoming a busy loop where a manifest asks for an
// initial delay of zero, which no factor makes grow; a crash after a while is not
// delayed by it.
const leastDelay = 100 * time.Millisecond

// killInterval is how long after the n-th round of SIGKILL the next one comes:
// a member that was forked meanwhile needs one at once, one that hangs in the
// kernel none for a while.
func killInterval(round int) time.Duration {
	return min(50*time.Millisecond<<min(round, 10), 5*time.Second)
}

// stopInterval is how long after a look the next one comes, while members of an
// ended main process are given their grace.
func stopInterval(sinceStop time.Duration) time.Duration {
	return min(max(sinceStop/4, 5*time.Millisecond), time.Second)
}

// listenInterval is how long what is known of listeners may be acted upon, for a
// workload that has been waiting so long: a server that is about to listen is
// looked at often, one that never does rarely.
func listenInterval(waited time.Duration) time.Duration {
	if waited < 0 { // the clock was set back
		return 2 * time.Second
	}
	return min(max(waited/4, 20*time.Millisecond), 2*time.Second)
}

// resolveAgain is how long a failed check of a program stands.
const resolveAgain = 5 * time.Second

// maxFailureDelay bounds the back-off after a start that failed before anything
// ran, so that a program which is installed meanwhile is noticed soon.
const maxFailureDelay = 30 * time.Second
