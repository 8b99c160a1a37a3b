package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/spec"
)

// event is a notification of the server that belongs to no request. Who hears of it
// depends on what it is about.
type event struct {
	method string
	params json.RawMessage
	level  string // of a log message
	uri    string // of an updated resource
	topic  string // the resource that was subscribed to, if that is known
	floor  string // of a log message: what who has asked for no level gets
	from   *peer

	once sync.Once
	line []byte
}

// bytes gives the notification as it goes to clients.
func (e *event) bytes() []byte {
	e.once.Do(func() { e.line = rpc.Message{Method: e.method, Params: e.params}.Bytes() })
	return e.line
}

// wanted says whether a log message is one for who wants those from a level on.
func (e *event) wanted(level string) bool {
	if level == "" {
		level = e.floor
	}
	return e.level == "" || verbosity(e.level) >= verbosity(level)
}

// about says whether an update is one of what was subscribed to as uri.
func (e *event) about(uri string) bool {
	if e.topic != "" {
		return uri == e.topic
	}
	return covers(uri, e.uri)
}

// notified hands a notification to the members that it belongs to. What says neither
// which request it is about nor is known to concern all goes nowhere if the server
// has several members: it could be about any of them.
func (k *keeper) notified(p *peer, m rpc.Message) {
	if m.Method == noteAcknowledged {
		if c := p.waiting(rpc.Get(m.Params, "_meta", metaSubscription)); c != nil {
			if o, ok := c.to.(opening); ok {
				o.acknowledged()
			}
		}
		return
	}
	e := k.eventOf(p, m)
	if m.Method == noteTools {
		k.recount(p)
	}
	if e.level != "" {
		// To the modern era a log message belongs to a request, but over a pipe it does
		// not say to which: there must be no other.
		if c := p.alone(); c != nil && c.log != "" && verbosity(e.level) >= verbosity(c.log) {
			m.Params = e.params
			c.to.progressed(c, m)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !e.known() && k.several {
		return
	}
	if !k.several && p.era != spec.EraModern {
		e.level = "" // the only session has set the level of the server itself
	}
	if e.floor = "info"; k.level == "" {
		e.floor = levels[0] // nobody has asked for anything: it is the server's choice
	}
	for member := range k.members {
		member.event(e)
	}
}

// eventOf copies what is needed of a message.
func (k *keeper) eventOf(p *peer, m rpc.Message) *event {
	e := &event{method: m.Method, params: bytes.Clone(m.Params), from: p}
	switch m.Method {
	case noteLog:
		if e.level, _ = rpc.Text(rpc.Get(e.params, "level")); verbosity(e.level) < 0 {
			e.level = "info"
		}
	case noteUpdated:
		e.uri, _ = rpc.Text(rpc.Get(e.params, "uri"))
	}
	if p.era == spec.EraModern {
		subscription := rpc.Get(e.params, "_meta", metaSubscription)
		if n, ok := rpc.Number(subscription); ok && e.uri != "" {
			e.topic, _ = k.topics.of(n)
		}
		e.params = withoutMeta(e.params, metaSubscription)
	}
	return e
}

// known says whether it can be told who is meant by a notification.
func (e *event) known() bool {
	switch e.method {
	case noteLog, noteUpdated, noteTools, notePrompts, noteResources:
		return true
	}
	return false
}

// withoutMeta takes members out of _meta, and that away if nothing is left in it.
func withoutMeta(params json.RawMessage, names ...string) json.RawMessage {
	meta := rpc.Get(params, "_meta")
	if meta == nil {
		return params
	}
	for _, name := range names {
		meta = rpc.Set(meta, nil, name)
	}
	if string(meta) == emptyObject {
		meta = nil
	}
	return rpc.Set(params, meta, "_meta")
}

// asked answers a request of the server. A ping is answered here. Anything else goes
// to the client if there is exactly one that has announced to be asked.
func (k *keeper) asked(p *peer, m rpc.Message) {
	if m.Method == methodPing {
		p.offer(rpc.Message{ID: m.ID, Result: json.RawMessage(emptyObject)})
		return
	}
	if !k.hold(p, m) {
		k.put(k.client(), p, m)
	}
}

// put asks the client of a session; nil for none.
func (k *keeper) put(s *session, p *peer, m rpc.Message) {
	if s != nil && s.ask(p, m) || p.isOver() {
		return
	}
	k.b.findings.unanswerable(m.Method)
	p.offer(rpc.Errorf(rpc.CodeMethodNotFound, "no client of this server can be asked for %s", m.Method).Response(m.ID))
}

// early is what a server asks before there is the session that it belongs to: many ask
// for the roots as soon as they are greeted.
type early struct {
	p *peer
	m rpc.Message
}

// hold keeps a question for the client that has the server started. It says false if
// its session is there, or none will be.
func (k *keeper) hold(p *peer, m rpc.Message) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.several || k.hello.own || len(k.members) > 0 || len(k.early) >= maxQuestions {
		return false
	}
	m.ID, m.Params = bytes.Clone(m.ID), bytes.Clone(m.Params)
	k.early = append(k.early, early{p, m})
	return true
}

// ended tells the client that nobody waits for what it was asked.
func (k *keeper) ended(p *peer) {
	if s := k.client(); s != nil {
		s.forsake(p.epitaph().Error(), func(q question) bool { return q.peer == p })
	}
}

// client gives the session that a server of its own belongs to, or nil.
func (k *keeper) client() *session {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.several {
		return nil
	}
	for m := range k.members {
		if s, ok := m.(*session); ok {
			return s
		}
	}
	return nil
}

func (k *keeper) join(m member) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.members[m] = struct{}{}
	if s, ok := m.(*session); ok {
		for _, e := range k.early {
			k.put(s, e.p, e.m)
		}
		k.early = nil
	}
}

// leave ends what join began. Who leaves need not wait for the server to hear of it.
func (k *keeper) leave(m member) {
	k.mu.Lock()
	delete(k.members, m)
	k.mu.Unlock()
	go func() { _ = k.relevel(context.Background()) }() // at worst it says more than anyone wants
}

// restore sets up at a new server what the members had set up at the former one.
func (k *keeper) restore(p *peer, pr *profile) {
	k.topics.restore(p, pr)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.restoreLevelLocked(p)
}

func (k *keeper) restoreLevelLocked(p *peer) {
	if k.restored = k.level; k.level != "" && p.era != spec.EraModern {
		_ = p.requestNow(&call{method: methodSetLevel, to: nobody{}}, levelParams(k.level)) // an error of it was told before
	}
}

// relevel sets the server to the most verbose level that a member wants, if it is not
// set to that already. A modern server is told with each request instead.
func (k *keeper) relevel(ctx context.Context) error {
	k.mu.Lock()
	level := ""
	for m := range k.members {
		if l := m.logLevel(); l != "" && (level == "" || verbosity(l) < verbosity(level)) {
			level = l
		}
	}
	p, was := k.current, k.level
	if level == "" || level == was {
		k.mu.Unlock()
		return nil
	}
	k.level = level
	k.mu.Unlock()
	if p == nil || p.era == spec.EraModern {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, k.b.lim.own)
	defer cancel()
	_, err := p.ask(ctx, methodSetLevel, levelParams(level))
	if err != nil {
		k.mu.Lock()
		if k.level == level {
			k.level = was
		}
		k.mu.Unlock()
	}
	return err
}

// visitor is a modern request for as long as it waits for its answer: what it wants of
// log messages is in itself, and a legacy server has to be told.
type visitor string

func (*visitor) event(*event)       {}
func (v *visitor) logLevel() string { return string(*v) }

func levelParams(level string) json.RawMessage {
	return rpc.Set(nil, rpc.AppendText(nil, level), "level")
}
