package scope

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// sharedProbes lets starts that would ask the user manager the very same thing,
// with the same environment, directory and limits, share one probe. A start
// takes only the answer of a probe that began after it had asked: that the
// manager works is never remembered.
type sharedProbes struct {
	mu    sync.Mutex
	lines map[string]*line
}

// line is where starts with one question wait: a probe is under way, and next
// is the one that everybody joins who asks meanwhile.
type line struct{ next *round }

// round is one probe and its answer.
type round struct {
	turn    chan struct{} // closed when the probe before it is over
	done    chan struct{} // closed when the answer stands
	options []string
	why     string
}

// probeWithin bounds everything that one start asks of the user manager before
// it: a manager that hangs costs this and no more.
const probeWithin = 3 * time.Second

var tooSlow = fmt.Sprintf("the user manager did not answer within %v", probeWithin)

// question tells apart what starts ask.
func question(r Request, properties []string) string {
	return strings.Join(r.Env, "\x00") + "\x00\x00" + r.Dir + "\x00\x00" + strings.Join(properties, "\x00")
}

// ask gives the answer of probe to a question, or why there is none when ctx
// ends first.
func (s *sharedProbes) ask(ctx context.Context, question string, probe func(context.Context) ([]string, string)) ([]string, string) {
	r, mine := s.join(question)
	if !mine {
		select {
		case <-r.done:
			return r.options, r.why
		case <-ctx.Done():
			return nil, tooSlow
		}
	}
	defer s.leave(question, r)
	select {
	case <-r.turn:
		r.options, r.why = probe(ctx)
	case <-ctx.Done():
		r.why = tooSlow
	}
	return r.options, r.why
}

// join gives the round that answers whoever asks now; mine says that the caller
// is the one to run it, when its turn has come.
func (s *sharedProbes) join(question string) (r *round, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[question]
	if l != nil && l.next != nil {
		return l.next, false
	}
	r = &round{turn: make(chan struct{}), done: make(chan struct{})}
	if l != nil {
		l.next = r
		return r, true
	}
	if s.lines == nil {
		s.lines = map[string]*line{}
	}
	s.lines[question] = &line{}
	close(r.turn)
	return r, true
}

// leave ends a round and gives the turn to the next.
func (s *sharedProbes) leave(question string, r *round) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(r.done)
	l := s.lines[question]
	switch {
	case l.next == r: // its turn never came: the one before it is still asking
		l.next = nil
	case l.next != nil:
		close(l.next.turn)
		l.next = nil
	default:
		delete(s.lines, question)
	}
}
