//go:build linux || darwin || freebsd

package actuate

import (
	"container/heap"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// How often a file is looked at: soon while it grows fast, at least once a second
// while it grows, since its times are noted then, and ever more seldom while it
// rests.
const (
	fastestLook = 50 * time.Millisecond
	firstLook   = 100 * time.Millisecond
	growingLook = time.Second
	restingLook = 60 * time.Second
	// restsAfter is for how long a file has not grown when it is left to the bell.
	restsAfter = 400 * time.Millisecond
)

// nextLook gives the pause after which a file that has grown by the given number
// of bytes during the last pause will have used up half of what it may grow by.
// One that rests is looked at half as often each time.
func nextLook(last time.Duration, grown int64, b spec.LogBounds) time.Duration {
	if grown == 0 {
		return min(2*last, restingLook)
	}
	room := (b.MaxBytes - keptBytes(b)) / 2
	pause := time.Duration(float64(last) * float64(room) / float64(max(1, grown)))
	return min(max(pause, fastestLook), 2*max(last, firstLook), growingLook)
}

// lookAt gives the time of the next look. Files are looked at together: a
// wake-up costs more than a look.
func lookAt(now time.Time, pause time.Duration) time.Time {
	due := now.Add(pause)
	switch {
	case pause > 4*time.Second:
		return due.Truncate(pause / 4).Add(pause / 4)
	case pause == growingLook: // and no later
		return due.Truncate(pause / 4)
	}
	return due
}

// lookQueue orders files by the time of their next look.
type lookQueue []*boundedLog

func (q lookQueue) Len() int           { return len(q) }
func (q lookQueue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q lookQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}

// fix puts a file in its place after its due time has changed.
func (q *lookQueue) fix(f *boundedLog) {
	if f.at >= 0 && !f.last {
		heap.Fix(q, f.at)
	}
}

// Push appends, for container/heap.
func (q *lookQueue) Push(x any) {
	f := x.(*boundedLog)
	f.at = len(*q)
	*q = append(*q, f)
}

// Pop removes the last, for container/heap.
func (q *lookQueue) Pop() any {
	old := *q
	f := old[len(old)-1]
	f.at = -1
	*q = old[:len(old)-1]
	return f
}
