package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/spec"
)

// A modern server that needs something of the user ends a request with a list of what
// it wants, and waits for the request to come again with the answers. A legacy client
// is asked by requests of the server. What is in this file turns the one into the
// other, for a session that has a server of its own.

// maxRounds bounds how often a server may want input for one request.
const maxRounds = 16

// wantsInput begins to ask the client for what the server wants, if this is such a
// result and the client can be asked.
func (c *pending) wantsInput(call *call, m rpc.Message) bool {
	if c.s.k.several || c.peer == nil || c.peer.era != spec.EraModern || m.Result == nil {
		return false
	}
	if kind, _ := rpc.Text(rpc.Get(m.Result, "resultType")); kind != "input_required" || c.rounds >= maxRounds {
		return false
	}
	c.rounds++
	c.s.mu.Lock()
	c.asking = true
	c.s.mu.Unlock()
	result := bytes.Clone(m.Result)
	go func() {
		if err := c.again(call, result); err != nil {
			c.fail(err)
		}
	}()
	return true
}

// again asks the client, and sends the request once more with what it has said.
func (c *pending) again(former *call, result json.RawMessage) error {
	params := c.params
	answers := json.RawMessage(emptyObject)
	for name, request := range rpc.Members(rpc.Get(result, "inputRequests")) {
		method, _ := rpc.Text(rpc.Get(request, "method"))
		answer, err := c.s.inquire(c, method, rpc.Get(request, "params"))
		if err != nil {
			return err
		}
		key, _ := rpc.Text(name)
		answers = rpc.Set(answers, answer, key)
	}
	params = rpc.Set(params, answers, "inputResponses")
	if state := rpc.Get(result, "requestState"); state != nil {
		params = rpc.Set(params, state, "requestState")
	}
	next := &call{id: former.id, token: former.token, method: former.method, to: c, adapt: former.adapt}
	c.s.mu.Lock()
	c.call, c.asking = next, false
	waits := c.s.calls[rpc.KeyOf(next.id)] == c
	c.s.mu.Unlock()
	if !waits {
		return nil // it was cancelled meanwhile
	}
	return c.peer.pass(context.Background(), next, params, c.s.b.lim.own)
}

// inquire asks the client for something, and waits until it has answered, or nobody
// waits for that any more.
func (s *session) inquire(c *pending, method string, params json.RawMessage) (json.RawMessage, error) {
	said := make(chan rpc.Message, 1)
	m := rpc.Message{Method: method, Params: params}
	asked := method != "" && s.put(question{peer: c.peer, said: said, of: c}, m)
	switch {
	case !asked && c.peer.isOver():
		return nil, c.peer.epitaph()
	case !asked:
		return nil, fmt.Errorf("the client cannot be asked for %q", method)
	}
	select {
	case m, ok := <-said:
		switch {
		case !ok && c.peer.isOver():
			return nil, c.peer.epitaph()
		case !ok:
			return nil, errForsaken
		case m.Error != nil:
			return nil, rpc.ParseError(m.Error)
		}
		return m.Result, nil
	case <-s.over:
		return nil, fmt.Errorf("the session has ended")
	}
}
