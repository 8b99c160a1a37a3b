package logs

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// How long a run must have been quiet before something is concluded from it.
const (
	// restingAfter: whether it has ended is asked for, where a part of a line
	// waits for its end or another run to begin.
	restingAfter = 500 * time.Millisecond
	// neglectedAfter: the next one begins beside it. Something that left the
	// instance may hold its output open for ever.
	neglectedAfter = 5 * time.Second
)

// gather is how long a burst of writes is waited for: a writer that never pauses
// is then told of once in that time.
const gather = 10 * time.Millisecond

// follower reads the runs of one workload as they come.
type follower struct {
	q      *Query
	give   func(Line) error
	watch  *watch
	active []*pursuit
	coming []*run // opened, and not begun
}

// pursuit is a run that is being read to its end.
type pursuit struct {
	*cursor
	grew time.Time // when it last had something new
}

// follow reads what there is and then what comes. Runs are found, and opened, by
// a goroutine of its own: one that is removed while the reader is slow is read
// all the same.
func follow(ctx context.Context, dir string, key spec.Key, q *Query, runs []*run, give func(Line) error) error {
	f := &follower{q: q, give: give}
	chosen := q.chosen(runs)
	var seen []string
	for _, r := range runs {
		seen = append(seen, filepath.Base(r.path))
		if !slices.Contains(chosen, r) {
			r.file.Close()
		}
	}
	defer f.close()
	f.watch = newWatch(dir, key, seen)
	defer f.watch.close()
	for _, r := range chosen {
		f.begin(r, q)
	}
	return f.run(ctx)
}

func (f *follower) begin(r *run, q *Query) {
	f.active = append(f.active, &pursuit{cursor: r.begin(q, f.give), grew: time.Now()})
}

// run reads until the context ends, and then what is there already, so that the
// last words of whoever is stopped together with the reader are not lost.
func (f *follower) run(ctx context.Context) error {
	for {
		again, err := f.step()
		if err != nil {
			return err
		}
		switch {
		case ctx.Err() != nil:
			return f.finish()
		case again:
			continue
		}
		if f.q.Idle != nil {
			f.q.Idle()
		}
		if !f.arm() && !f.rest(ctx) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(gather):
		}
	}
}

// step takes up new runs, reads what is new in each, and lets go of those that
// have ended. It says whether other runs are read now than before.
func (f *follower) step() (again bool, err error) {
	f.watch.clear() // what comes from here on is news
	f.coming = append(f.coming, f.watch.take()...)
	for _, p := range slices.Clone(f.active) {
		ended := f.mayHaveEnded(p) && p.ended()
		grew, err := p.read(-1)
		switch {
		case err != nil:
			return false, err
		case grew:
			p.grew, again = time.Now(), again || ended
		case ended: // before it was read to its end
			if err := f.retire(p); err != nil {
				return false, err
			}
			again = true
		}
	}
	return f.next() || again, nil
}

// mayHaveEnded says that it matters now whether a run has ended.
func (f *follower) mayHaveEnded(p *pursuit) bool {
	resting := time.Since(p.grew) >= restingAfter
	return len(f.coming) > 0 || resting && (p.lines.pending() || len(f.active) > 1)
}

// ended says that nobody can write to a run any more. Where that cannot be told,
// it is when it has been quiet for long.
func (p *pursuit) ended() bool {
	written, known := Written(p.file)
	if known {
		return !written
	}
	return p.neglected(neglectedAfter)
}

// neglected says that a run has been quiet for so long that none has to wait for
// it.
func (p *pursuit) neglected(after time.Duration) bool { return time.Since(p.grew) >= after }

// retire lets go of a run, after what is left of its last line.
func (f *follower) retire(p *pursuit) error {
	f.active = slices.DeleteFunc(f.active, func(other *pursuit) bool { return other == p })
	defer p.file.Close()
	return p.finish()
}

// next begins with the runs that may begin: all of them, where all are wanted,
// else one after the other. They are read from their beginning.
func (f *follower) next() bool {
	after := cmp.Or(f.q.neglect, neglectedAfter)
	begun := 0
	for ; begun < len(f.coming); begun++ {
		if !f.q.AllMembers && slices.ContainsFunc(f.active, func(p *pursuit) bool { return !p.neglected(after) }) {
			break
		}
		f.begin(f.coming[begun], &Query{Tail: -1, Since: f.q.Since})
	}
	f.coming = slices.Delete(f.coming, 0, begun)
	return begun > 0
}

// arm has the bell ring for each run that is at rest. It says whether one has
// grown before that.
func (f *follower) arm() (grown bool) {
	for _, p := range f.active {
		f.watch.bell.Arm(p.path)
		fi, err := p.file.Stat()
		grown = grown || err == nil && fi.Size() != p.pos
	}
	return grown
}

// rest waits for something new, but no longer than until something is to be
// concluded from the quiet. It says whether there are news.
func (f *follower) rest(ctx context.Context) bool {
	timer := time.NewTimer(f.patience())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return false
	case <-f.watch.news:
		return true
	}
}

// patience is how long nothing is to be done unless there are news.
func (f *follower) patience() time.Duration {
	if !f.watch.told() {
		return lookEvery
	}
	if len(f.coming) > 0 || slices.ContainsFunc(f.active, func(p *pursuit) bool { return p.lines.pending() }) {
		return restingAfter
	}
	return safetyLook
}

// finish gives what is left of last lines.
func (f *follower) finish() error {
	for _, p := range f.active {
		if err := p.finish(); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) close() {
	for _, p := range f.active {
		p.file.Close()
	}
	closeAll(f.coming)
}
