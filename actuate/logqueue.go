//go:build linux || darwin || freebsd

package actuate

import "time"

// How often a file is looked at: soon while it grows fast, ever more seldom
// while it rests.
const (
	fastestLook = 50 * time.Millisecond
	firstLook   = 100 * time.Millisecond
	growingLook = 30 * time.Second
	restingLook = 60 * time.Second
)

// nextLook gives the pause after which a file that has grown by the given number
// of bytes during the last pause will have used up half of what it may grow by.
// One that rests is looked at half as often each time.
func nextLook(last time.Duration, grown int64) time.Duration {
	if grown <= 0 {
		return min(2*last, restingLook)
	}
	const room = (maxLogBytes - keepLogBytes) / 2
	pause := time.Duration(float64(last) * room / float64(grown))
	return min(max(pause, fastestLook), 2*max(last, firstLook), growingLook)
}

// lookQueue orders files by the time of their next look.
type lookQueue []*boundedLog

func (q lookQueue) Len() int           { return len(q) }
func (q lookQueue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q lookQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
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
