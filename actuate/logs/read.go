package logs

import (
	"context"
	"errors"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// ErrNone says that no output is kept of what was asked for.
var ErrNone = errors.New("no output is kept")

// Query says which lines are wanted.
type Query struct {
	// Follow goes on with what is written, and with the next instance where one
	// takes the place of the last, until the context ends.
	Follow bool
	// Tail is how many of the last lines of each run are wanted; -1 is all.
	Tail int
	// Since leaves out what was written before. Lines of which no time is known
	// are given.
	Since time.Time
	// Previous asks for the run before the present one.
	Previous bool
	// AllMembers asks for every instance that runs, not for the newest alone.
	AllMembers bool
	// Idle is called whenever all that there is was given and more is waited for.
	// It may be nil.
	Idle func()

	neglect time.Duration // zero is neglectedAfter; for tests
}

// Line is one line of output, or a piece of a very long one.
type Line struct {
	// Instance is who wrote it: the random part of its name, its token.
	Instance string
	// Time is about when it was written: a second too late at most, while nobody
	// was kept from looking. It is zero where it is not known.
	Time time.Time
	// Text is the line without its end, byte for byte. It is valid until the
	// function that it was given to returns.
	Text []byte
	// More says that the line goes on in the next one of the same instance.
	More bool
	// Skipped is how many bytes before this line were freed before they could be
	// read: the reader was slower than the writer for long.
	Skipped int64
}

// Read gives the lines of a workload, the oldest first, run by run. It fails
// with ErrNone where there is no run of the kind asked for, unless it is to
// follow; then it ends with ctx, without an error. An error of give ends it, and
// is its own.
func Read(ctx context.Context, dir string, key spec.Key, q Query, give func(Line) error) error {
	runs, err := openRuns(dir, key)
	if err != nil {
		return err
	}
	if q.Follow {
		return follow(ctx, dir, key, &q, runs, give)
	}
	defer closeAll(runs)
	chosen := q.chosen(runs)
	if len(chosen) == 0 {
		return ErrNone
	}
	for _, r := range chosen {
		if err := r.readAll(ctx, &q, give); err != nil {
			return err
		}
	}
	return nil
}

// readAll gives what there is of one run.
func (r *run) readAll(ctx context.Context, q *Query, give func(Line) error) error {
	c := r.begin(q, func(l Line) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return give(l)
	})
	if _, err := c.read(r.info.Size()); err != nil {
		return err
	}
	return c.finish()
}
