package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/spec"
)

// answered and progressed make a pending request the receiver of its call.

func (c *pending) answered(call *call, m rpc.Message) {
	if c.wantsInput(call, m) {
		return
	}
	c.s.mu.Lock()
	waits := c.s.waitsLocked(c)
	if waits {
		delete(c.s.calls, rpc.KeyOf(call.id))
	}
	c.s.mu.Unlock()
	if waits { // else it was cancelled, which is an answer, too
		c.stream.answered(call, m)
	}
}

func (c *pending) progressed(call *call, m rpc.Message) { c.stream.progressed(call, m) }

// fail answers with an error of the bridge.
func (c *pending) fail(err error) {
	var e *rpc.Error
	if !errors.As(err, &e) {
		e = rpc.Errorf(rpc.CodeServer, "%s", err)
	}
	call := c.current()
	c.answered(call, e.Response(call.id))
}

// current gives the call that stands for the request now.
func (c *pending) current() *call {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.call
}

// succeed answers with an empty result.
func (c *pending) succeed() {
	call := c.current()
	c.answered(call, rpc.Message{ID: call.id, Result: json.RawMessage(emptyObject)})
}

// request takes a request of the client; the answer goes to st, at once or later.
func (s *session) request(ctx context.Context, st *stream, m rpc.Message) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &pending{stream: st, s: s, quit: cancel}
	c.call = &call{id: bytes.Clone(m.ID), method: m.Method, to: c}
	if err := s.admit(c); err != nil {
		st.answered(c.call, err.Response(m.ID))
		return
	}
	switch m.Method {
	case methodInitialize:
		c.fail(rpc.Errorf(rpc.CodeInvalidRequest, "this session was initialized already"))
	case methodSetLevel:
		s.setLevel(ctx, c, m.Params)
	case methodSubscribe:
		s.subscribe(ctx, c, m.Params)
	case methodUnsubscribe:
		s.unsubscribe(c, m.Params)
	default:
		if err := s.forward(ctx, c, m.Params); err != nil {
			c.fail(err)
		}
	}
}

var errSessionEnded = rpc.Errorf(rpc.CodeServer, "the session has ended")

// admit notes a request, unless its id is in use or too many wait.
func (s *session) admit(c *pending) *rpc.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := rpc.KeyOf(c.call.id)
	switch {
	case s.closed:
		return errSessionEnded
	case s.calls[key] != nil:
		return rpc.Errorf(rpc.CodeInvalidRequest, "the id %s is in use by a request that was not answered yet", c.call.id)
	case len(s.calls) >= s.b.lim.calls:
		return rpc.Errorf(rpc.CodeServer, "%d requests of this session wait for an answer: that is the most it may have", len(s.calls))
	}
	s.calls[key] = c
	return nil
}

// forward passes a request on to the server.
func (s *session) forward(ctx context.Context, c *pending, params json.RawMessage) error {
	if token := rpc.Get(params, "_meta", "progressToken"); token != nil && string(token) != "null" {
		c.call.token = bytes.Clone(token)
	}
	return s.k.submit(ctx, func(p *peer, pr *profile) error {
		if p.era == spec.EraModern {
			if c.call.method == methodPing {
				c.succeed()
				return nil
			}
			params = s.k.hello.meta(params, s.logLevel())
		}
		s.mu.Lock()
		if !s.waitsLocked(c) { // it was cancelled meanwhile
			s.mu.Unlock()
			return nil
		}
		if p.era == spec.EraModern {
			c.call.adapt = toLegacy
		}
		c.peer, c.params = p, nil
		if p.era == spec.EraModern && !s.k.several {
			c.params = bytes.Clone(params)
		}
		s.mu.Unlock()
		return p.pass(ctx, c.call, params, s.b.lim.own)
	})
}

// pass is request for one of a client, which is told if the server does not read its
// input within a time.
func (p *peer) pass(ctx context.Context, c *call, params json.RawMessage, within time.Duration) error {
	waits, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := p.request(waits, c, params)
	if errors.Is(err, context.DeadlineExceeded) {
		return errDeaf
	}
	return err
}

// errDeaf says that something was not sent.
var errDeaf = errors.New("the server does not read its input: this was not sent to it")

// submit does something with the server that answers, and again with the next one if
// it has ended before it could be done.
func (k *keeper) submit(ctx context.Context, do func(*peer, *profile) error) error {
	for range maxSubmits {
		p, pr, err := k.ready(ctx)
		if err != nil {
			return err
		}
		if err = do(p, pr); !errors.Is(err, errEnded) {
			return err
		}
		select { // that it takes no more is known before how it ended
		case <-p.over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errEnded
}

const maxSubmits = 3

// notify takes a notification of the client.
func (s *session) notify(ctx context.Context, m rpc.Message) error {
	switch {
	case m.Method == noteCancelled:
		s.cancel(m.Params)
		return nil
	case m.Method == noteInitialized, s.k.several:
		// The server was told, or it would take one client for all.
		return nil
	}
	return s.k.submit(ctx, func(p *peer, _ *profile) error {
		if p.era == spec.EraModern {
			return nil
		}
		return p.send(ctx, m)
	})
}

// cancel gives up a request of this session. The server need not answer it any more,
// so that the bridge does: nobody is left waiting.
func (s *session) cancel(params json.RawMessage) {
	id := rpc.Get(params, "requestId")
	if id == nil {
		return
	}
	s.mu.Lock()
	c := s.calls[rpc.KeyOf(id)]
	var p *peer
	var at *call
	asking := false
	if c != nil {
		p, at, asking = c.peer, c.call, c.asking
	}
	s.mu.Unlock()
	if c != nil && (p == nil || asking || p.giveUp(at, rpc.Get(params, "reason"))) {
		c.fail(rpc.Errorf(rpc.CodeServer, "the request was cancelled"))
		c.quit()
		s.forsake(errForsaken.Error(), func(q question) bool { return q.of == c })
	}
}

func (s *session) setLevel(ctx context.Context, c *pending, params json.RawMessage) {
	level, _ := rpc.Text(rpc.Get(params, "level"))
	if verbosity(level) < 0 {
		c.fail(rpc.Errorf(rpc.CodeInvalidParams, "%q is no log level", level))
		return
	}
	_, pr, err := s.k.ready(ctx)
	if err == nil && !pr.can("logging") {
		err = rpc.Errorf(rpc.CodeMethodNotFound, "the server has no logging")
	}
	if err != nil {
		c.fail(err)
		return
	}
	s.mu.Lock()
	was := s.level
	s.level = level
	s.mu.Unlock()
	if err := s.k.relevel(ctx); err != nil {
		s.mu.Lock()
		s.level = was
		s.mu.Unlock()
		c.fail(err)
		return
	}
	c.succeed()
}

func (s *session) subscribe(ctx context.Context, c *pending, params json.RawMessage) {
	uri, ok := rpc.Text(rpc.Get(params, "uri"))
	if !ok {
		c.fail(rpc.Errorf(rpc.CodeInvalidParams, "the uri is missing"))
		return
	}
	s.mu.Lock()
	has, full := s.uris[uri] != nil, len(s.uris) >= maxTopics
	sub := &subscription{}
	if !has && !full {
		s.uris[uri] = sub // before the server can say anything of it
	}
	s.mu.Unlock()
	switch {
	case has:
		c.succeed()
		return
	case full:
		c.fail(rpc.Errorf(rpc.CodeServer, "%d subscriptions are the most that a session may have", maxTopics))
		return
	}
	err := s.k.submit(ctx, func(p *peer, _ *profile) error { return s.k.topics.retain(ctx, p, uri) })
	s.mu.Lock()
	wanted := s.uris[uri] == sub
	switch {
	case wanted && err == nil:
		sub.held = true
	case wanted:
		delete(s.uris, uri)
	}
	s.mu.Unlock()
	if err == nil && !wanted {
		s.k.topics.release(uri)
	}
	if err != nil {
		c.fail(err)
		return
	}
	c.succeed()
}

func (s *session) unsubscribe(c *pending, params json.RawMessage) {
	uri, _ := rpc.Text(rpc.Get(params, "uri"))
	s.mu.Lock()
	sub := s.uris[uri]
	held := sub != nil && sub.held
	delete(s.uris, uri)
	s.mu.Unlock()
	if held {
		s.k.topics.release(uri)
	}
	c.succeed()
}
