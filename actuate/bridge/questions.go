package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// question is a request of the server that its client was asked. Who takes it out of
// the session deals with it: it is answered or forsaken, and not both.
type question struct {
	peer *peer
	id   json.RawMessage  // the server's
	said chan rpc.Message // who waits for the answer, if that is not the server itself; closed if it is forsaken
	of   *pending         // the request of the client that it is asked for; nil for that of a legacy server
}

// maxQuestions bounds what a server may ask at a time.
const maxQuestions = 256

// errForsaken says that a question was given up with the request that it belongs to.
var errForsaken = errors.New("the request that the client was asked for was cancelled")

// ask passes a request of the server to the client, under a number of the session: the
// server may be replaced, and the next one would begin to count anew.
func (s *session) ask(p *peer, m rpc.Message) bool {
	return s.put(question{peer: p, id: bytes.Clone(m.ID)}, m)
}

func (s *session) put(q question, m rpc.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A peer that has ended is looked for here, so that none puts a question behind the
	// back of forsake.
	if s.closed || len(s.questions) >= maxQuestions || q.peer.isOver() || q.of != nil && !s.waitsLocked(q.of) {
		return false
	}
	s.question++
	s.questions[s.question] = q
	m.ID = rpc.NumberID(s.question)
	s.relateLocked(m.Bytes())
	return true
}

// waitsLocked says whether a request of the client was not answered yet.
func (s *session) waitsLocked(c *pending) bool { return s.calls[rpc.KeyOf(c.call.id)] == c }

// reply brings an answer of the client to the server that has asked. One that nobody
// waits for is dropped.
func (s *session) reply(ctx context.Context, m rpc.Message) error {
	n, ok := rpc.Number(m.ID)
	s.mu.Lock()
	q, known := s.questions[n]
	delete(s.questions, n)
	s.mu.Unlock()
	if !ok || !known {
		return nil
	}
	if q.said != nil {
		q.said <- m // it has room
		return nil
	}
	m.ID = q.id
	return q.peer.send(ctx, m)
}

// withdrawnLocked passes on that the server does not wait for an answer any more.
func (s *session) withdrawnLocked(e *event) {
	id := rpc.KeyOf(rpc.Get(e.params, "requestId"))
	for n, q := range s.questions {
		if q.peer == e.from && q.said == nil && rpc.KeyOf(q.id) == id {
			s.dropLocked(n, e.params)
			return
		}
	}
}

// forsake drops the questions that nobody waits for an answer to any more, and tells
// the client so.
func (s *session) forsake(why string, which func(question) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, q := range s.questions {
		if which(q) {
			s.dropLocked(n, rpc.Set(nil, rpc.AppendText(nil, why), "reason"))
			if q.said != nil {
				close(q.said)
			}
		}
	}
}

// dropLocked forgets a question, and tells the client with these params of
// notifications/cancelled.
func (s *session) dropLocked(n int64, params json.RawMessage) {
	delete(s.questions, n)
	params = rpc.Set(params, rpc.NumberID(n), "requestId")
	s.relateLocked(rpc.Message{Method: noteCancelled, Params: params}.Bytes())
}
