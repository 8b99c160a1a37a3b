package probe

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

const (
	// greetWithin bounds a greeting, which goes on when the probe that began it
	// has given up: the next one waits for the same. A server that is slow to
	// answer would otherwise be left with one session for each attempt.
	greetWithin = 20 * time.Second
	// discoverWithin is how long an answer in the modern era is waited for before
	// the other is tried: a server that knows only that may stay silent.
	discoverWithin = 5 * time.Second
	// leaveWithin bounds the end of a session.
	leaveWithin = time.Second
	// reopenPause lies between two sessions, the first of which was of no use.
	reopenPause = time.Minute
)

// server is an MCP server of one instance, as all of its probes share it: with
// one session, whoever asks.
type server struct {
	url      string
	sse      bool
	protocol spec.Protocol
	eras     *eraMemory
	program  program // whose era it is

	// life ends when the instance is forgotten.
	life    context.Context
	end     context.CancelFunc
	pending sync.WaitGroup // greetings and farewells

	mu        sync.Mutex
	forgotten bool
	dialogue  *dialogue // nil where there is none
	greeting  *greeting // nil where none is under way
	former    *dialogue // to be left before another one is begun
}

// greeting is the begin of a dialogue that is under way.
type greeting struct {
	done     chan struct{}
	dialogue *dialogue
	err      error
}

func newServer(url string, m *spec.MCP, eras *eraMemory, of program) *server {
	s := &server{url: url, sse: m.Transport == spec.TransportSSE, protocol: m.Protocol, eras: eras, program: of}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// MCP asks an MCP server for a sign of life: a ping in the legacy era, a
// server/discover in the modern one. To verify is to ask for its tools instead.
// A refusal for want of credentials is success.
func MCP(s *server, verify bool, answer *observe.Answer) Func {
	return func(ctx context.Context) error {
		ask := s.ask
		if s.sse {
			ask = s.askOnce
		}
		err := ask(ctx, verify, answer)
		if isUnauthorized(err) {
			*answer = observe.Answer{Unauthorized: true}
			return nil
		}
		return err
	}
}

// ask asks in the dialogue that there is, or in a new one. One that the server
// does not know any more is begun anew, once.
func (s *server) ask(ctx context.Context, verify bool, answer *observe.Answer) error {
	d, err := s.enter(ctx)
	if err != nil {
		return err
	}
	err = d.attempt(ctx, verify, answer)
	if !isLost(err) || !s.drop(d) {
		return err
	}
	if d, err = s.enter(ctx); err != nil {
		return err
	}
	return d.attempt(ctx, verify, answer)
}

// isLost says that the server does not know the session, or the era. It should
// answer 404 then; real ones answer 400 too.
func isLost(err error) bool {
	var r *refusal
	return errors.As(err, &r) && (r.status == http.StatusNotFound || r.status == http.StatusBadRequest)
}

// enter gives the dialogue, and begins one where there is none.
func (s *server) enter(ctx context.Context) (*dialogue, error) {
	s.mu.Lock()
	if s.dialogue != nil {
		defer s.mu.Unlock()
		return s.dialogue, nil
	}
	if s.forgotten {
		defer s.mu.Unlock()
		return nil, failuref("POST %s: given up: the instance is gone", s.url)
	}
	g := s.greeting
	if g == nil {
		g = &greeting{done: make(chan struct{})}
		s.greeting = g
		s.pending.Go(func() { s.greet(g) })
	}
	s.mu.Unlock()
	select {
	case <-g.done:
		return g.dialogue, g.err
	case <-ctx.Done():
		return nil, failuref("POST %s (greeting): %s", s.url, cause(ctx.Err(), allowance(ctx)))
	}
}

// greet leaves the former dialogue and begins a new one, for all who wait.
func (s *server) greet(g *greeting) {
	ctx, cancel := context.WithTimeout(s.life, greetWithin)
	defer cancel()
	s.mu.Lock()
	former := s.former
	s.former = nil
	s.mu.Unlock()
	former.leave()
	g.dialogue, g.err = s.begin(withAllowance(ctx))
	s.mu.Lock()
	s.greeting = nil
	late := s.forgotten
	if !late {
		s.dialogue = g.dialogue
	}
	s.mu.Unlock()
	close(g.done)
	if late {
		g.dialogue.leave()
	}
}

// drop ends a dialogue that the server does not know any more, so that another
// one is begun. It says no while that would only pile up sessions: one that has
// never been answered in is replaced once in reopenPause.
func (s *server) drop(d *dialogue) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dialogue != d {
		return true // by another probe
	}
	if !d.proven.Load() && time.Since(d.began) < reopenPause {
		return false
	}
	s.dialogue, s.former = nil, d
	return true
}

// forget ends the session, if there is one, without waiting for it. It says
// whether there is anything to wait for.
func (s *server) forget() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten = true
	s.end()
	open := s.dialogue
	s.dialogue = nil
	if open != nil && open.session != "" {
		s.pending.Go(open.leave)
		return true
	}
	return s.greeting != nil
}
