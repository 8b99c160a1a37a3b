package door

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// harmless are the methods that may be carried out twice: they change nothing, or the
// same.
var harmless = map[string]bool{
	methodInitialize: true, methodPing: true, "server/discover": true,
	methodListTools: true, "prompts/list": true, "resources/list": true, "resources/templates/list": true,
	methodReadResource: true, methodGetPrompt: true, "completion/complete": true,
	methodSubscribe: true, methodUnsubscribe: true, methodSetLevel: true, methodListen: true,
}

const (
	// maxAttempts is how often a request is sent again to a server that is there and
	// does not answer it; attempts that lived for longLived do not count.
	maxAttempts = 5
	longLived   = 10 * time.Second
)

// answer sees to it that a request is answered once: by the server, or with an error
// that says why not. One that the client has withdrawn needs none.
func (d *door) answer(c *call) {
	defer d.calls.leave()
	defer c.end()
	select {
	case <-c.after:
	case <-c.ctx.Done():
	}
	err := d.attempt(c)
	if !d.calls.take(c) || err == nil || d.calls.isWithdrawn(c) {
		return
	}
	if c.ctx.Err() != nil {
		return // nobody waits for it any more
	}
	d.refuse(c.m.ID, failure(c, err))
}

// attempt sends it until it is answered, or cannot be.
func (d *door) attempt(c *call) error {
	for attempts := 0; ; attempts++ {
		way, err := d.enterFor(c)
		if err != nil {
			return err
		}
		if !d.calls.embark(c, way) || c.ctx.Err() != nil {
			return nil
		}
		began := time.Now()
		err = way.call(c.ctx, d.exchange(way, c))
		if err == nil || c.ctx.Err() != nil {
			return err
		}
		if d.retry(c, way, err) {
			continue
		}
		lost, ok := isLost(err)
		if !ok {
			return err
		}
		if time.Since(began) > longLived {
			attempts = 0
		}
		again := d.lose(way, lost)
		met := lost.sent || lost.unknown
		if !again || lost.sent && !harmless[c.m.Method] || met && attempts >= maxAttempts {
			return err
		}
	}
}

// enterFor gives the way for a call. A second initialize begins a new session.
func (d *door) enterFor(c *call) (link, error) {
	if c.m.Method == methodInitialize && d.memory.forget() {
		d.abandon()
	}
	return d.enter(c.ctx)
}

// exchange connects a call with the client.
func (d *door) exchange(way link, c *call) *exchange {
	return &exchange{m: c.m, revision: c.revision, sent: c.markSent, take: func(m rpc.Message) bool {
		if !m.Response() {
			d.hear(way, c, m)
			return false
		}
		if m.Error == nil {
			d.note(c, m.Result)
		}
		if d.calls.take(c) {
			d.out.write(m)
		}
		return true
	}}
}

// note keeps what the client and the server have agreed upon.
func (d *door) note(c *call, result json.RawMessage) {
	d.memory.note(c.m, result)
	if c.m.Method == methodListTools && c.revision != "" {
		d.params.learn(result)
	}
}

// failure is the error that answers a call.
func failure(c *call, err error) error {
	var refused *refusedError
	switch lost, ok := isLost(err); {
	case ok && lost.sent:
		return rpc.Errorf(rpc.CodeServer, "the server went away before it answered %s, which it may have carried out: %v", c.m.Method, err)
	case ok || !errors.As(err, &refused):
		return rpc.Errorf(rpc.CodeServer, "%v", err)
	case refused.says != nil:
		return refused.says
	}
	return rpc.Errorf(rpc.CodeServer, "the server refuses %s: %v", c.m.Method, err)
}

// abandon takes the way out of use without a word: the client begins anew.
func (d *door) abandon() {
	d.mu.Lock()
	way := d.link
	d.link = nil
	d.mu.Unlock()
	if way != nil {
		d.asked.forget(way)
		d.work.Go(func() {
			way.leave()
			way.close()
		})
	}
}
