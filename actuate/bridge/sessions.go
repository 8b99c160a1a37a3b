package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// dismiss ends a session, and forgets it.
func (b *bridge) dismiss(s *session) {
	b.mu.Lock()
	delete(b.sessions, s.id)
	b.mu.Unlock()
	s.close()
}

// admit makes a session.
func (b *bridge) admit(k *keeper, version string) (*session, error) {
	s := newSession(b, k, newID(), version)
	b.mu.Lock()
	full := k.several && len(b.sessions) >= b.lim.sessions
	var former *session
	if full {
		former = b.unusedLocked(time.Now())
	}
	if former != nil {
		delete(b.sessions, former.id)
		full = false
	}
	if !full {
		b.sessions[s.id] = s
	}
	b.mu.Unlock()
	if former != nil {
		former.close()
	}
	if full {
		return nil, fmt.Errorf("%d sessions are open: that is the most there may be", b.lim.sessions)
	}
	k.join(s)
	return s, nil
}

// unusedLocked gives the session that was unused for longest, and long enough to make
// room for another; nil for none. Its client, if there is one, has to begin anew.
func (b *bridge) unusedLocked(now time.Time) (longest *session) {
	before := now.Add(-b.lim.unused)
	for _, s := range b.sessions {
		if since, ok := s.idle(); ok && since.Before(before) {
			longest, before = s, since
		}
	}
	return longest
}

// keeperFor gives the server for a new session: the one that all share, or one of its
// own, which is started.
func (b *bridge) keeperFor(ctx context.Context, params []byte) (*keeper, error) {
	if b.o.Sharing != spec.SharingPerSession {
		return b.common, nil
	}
	first := make(chan error, 1)
	k, err := b.keepOne(clientHello(params), false, func(err error) { b.tried(err); first <- err })
	if err != nil {
		return nil, err
	}
	select {
	case err := <-first:
		return k, err
	case <-ctx.Done():
		go k.stop()
		return nil, ctx.Err()
	}
}

// tried notes how the last start of a server of a session went, if it says something of
// the server.
func (b *bridge) tried(err error) {
	var failed *startError
	if errors.As(err, &failed) && failed.client {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failure = err; err != nil && !b.trying {
		b.trying = true
		go b.tryAgain()
	}
}

// tryAgain tries the server again after one did not start for a session, until one does:
// clients that hear that it is not well begin no session which would show otherwise.
func (b *bridge) tryAgain() {
	for tries := 1; ; tries++ {
		timer := time.NewTimer(delay(b.o.Backoff, tries))
		select {
		case <-timer.C:
		case <-b.stopping:
			timer.Stop()
			return
		}
		b.mu.Lock()
		full := b.roomLocked() != nil
		well := b.failure == nil
		b.trying = !well
		b.mu.Unlock()
		if well {
			return
		}
		if !full {
			_ = b.rehearse() // which notes what came of it
		}
	}
}

// roomLocked says whether one more server may be started.
func (b *bridge) roomLocked() error {
	if b.closed {
		return errStopping
	}
	if n := len(b.keepers); n >= b.o.MaxSessions {
		return fmt.Errorf("%d servers run, one for each session: that is the most there may be (mcp.maxSessions)", n)
	}
	return nil
}

// sweep ends sessions that nobody uses any more, until ctx ends.
func (b *bridge) sweep(ctx context.Context) {
	ticker := time.NewTicker(max(min(b.o.IdleTimeout/4, b.lim.left/4), 10*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			b.sweepOnce(time.Now())
		case <-ctx.Done():
			return
		}
	}
}

func (b *bridge) sweepOnce(now time.Time) {
	b.mu.Lock()
	var idle []*session
	for _, s := range b.sessions {
		if since, ok := s.idle(); ok && now.Sub(since) >= s.patience() {
			idle = append(idle, s)
			delete(b.sessions, s.id) // at once, so that nobody enters it any more
		}
	}
	var common *keeper
	if b.o.Sharing == spec.SharingPerSession && b.common != nil && b.visits == 0 && now.Sub(b.visited) >= b.o.IdleTimeout {
		common, b.common = b.common, nil
	}
	b.mu.Unlock()
	for _, s := range idle {
		s.close()
	}
	if common != nil {
		go common.stop()
	}
}
