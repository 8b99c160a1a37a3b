package observe

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// part is a piece of work for one goroutine, which reads process after process.
// The kernel may keep it for ever in any of them. So it writes only what is its
// own, tells how far it has come, and can be left behind.
type part struct {
	targets []target
	out     []sighting // a row each; empty where the process is gone
	done    atomic.Int64
	failed  error // set before ended is closed
	ended   chan struct{}
	left    atomic.Bool // nobody waits any more
}

// readPart reads the targets into next with the reader of that number. It
// returns in bounded time: a process that blocks the reading is set aside and
// another goroutine, with another reader, goes on with the rest.
func (t *table) readPart(ctx context.Context, targets []target, next []sighting, number int) error {
	for len(targets) > 0 {
		r := t.readers[number]
		p := &part{targets: targets, out: r.rowsFor(len(targets)), ended: make(chan struct{})}
		sights := t.sights
		go p.run(r, &sights)
		n, err := t.await(ctx, p)
		for i := range n {
			next[targets[i].row] = p.out[i]
		}
		if err == nil && n == len(targets) {
			return nil
		}
		if err != nil && p.hasEnded() {
			return err // the reader has come back
		}
		t.readers[number] = newReader(t.proc)
		t.lent.Store(true)
		if err != nil {
			return err
		}
		targets = t.skip(p, targets[n:], next)
	}
	return nil
}

// skip sets the first target aside, and gives what remains to be read: without
// it, or with it but without its environment.
func (t *table) skip(p *part, targets []target, next []sighting) []target {
	was := &targets[0].was
	if t.aside.add(int32(was.PID), was.inode, p.ended) == onlyEnviron {
		rest := slices.Clone(targets)
		rest[0].how = skipEnviron
		return rest
	}
	row := targets[0].row
	next[row] = *was
	next[row].block()
	return targets[1:]
}

func (p *part) run(r *reader, w *sights) {
	defer close(p.ended)
	for i := range p.targets {
		if p.left.Load() {
			return
		}
		target := p.targets[i]
		s, ok := r.see(&target, w)
		if p.failed = r.failure(); p.failed != nil {
			return
		}
		if !ok {
			s = sighting{}
		}
		p.out[i] = s
		p.done.Store(int64(i + 1))
	}
}

func (p *part) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// await waits for the end of a part, or until it has made no progress for as
// long as a read may take. It gives the number of targets that are read.
func (t *table) await(ctx context.Context, p *part) (int, error) {
	timer := time.NewTimer(t.aside.stall)
	defer timer.Stop()
	before := int64(-1)
	for {
		select {
		case <-p.ended:
			return int(p.done.Load()), p.failed
		case <-ctx.Done():
			p.left.Store(true)
			return int(p.done.Load()), fmt.Errorf("cannot read the process table in time: %w", ctx.Err())
		case <-timer.C:
			if now := p.done.Load(); now != before {
				before = now
				timer.Reset(t.aside.stall)
				continue
			}
			p.left.Store(true)
			return int(p.done.Load()), nil
		}
	}
}
