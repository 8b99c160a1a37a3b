package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/spec"
)

// topics are the resources that members want to hear of, counted: the server is asked
// once for each, and told when nobody is left.
type topics struct {
	k      *keeper
	mu     sync.Mutex
	byURI  map[string]*topic
	listen *call // modern: what brings changes of the lists
}

type topic struct {
	count  int
	opened chan struct{} // closed when the server has answered
	err    error         // what it has answered
	listen *call         // modern: the request that keeps it open
}

// maxTopics bounds what the members of a server listen to, each by itself.
const maxTopics = 1024

func (t *topics) init(k *keeper) { t.k, t.byURI = k, map[string]*topic{} }

// retain subscribes to a resource. It waits for the answer of the server, whose error
// is given as it is.
func (t *topics) retain(ctx context.Context, p *peer, uri string) error {
	t.mu.Lock()
	topic := t.byURI[uri]
	if topic != nil {
		topic.count++
		t.mu.Unlock()
		select {
		case <-topic.opened:
			return topic.err
		case <-ctx.Done():
			t.release(uri)
			return ctx.Err()
		}
	}
	topic = newTopic()
	t.byURI[uri] = topic
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.k.b.lim.own)
	defer cancel()
	topic.err = t.open(ctx, p, topic, uri)
	if topic.err != nil {
		t.mu.Lock()
		if t.byURI[uri] == topic {
			delete(t.byURI, uri)
		}
		t.mu.Unlock()
	}
	close(topic.opened)
	return topic.err
}

func newTopic() *topic { return &topic{count: 1, opened: make(chan struct{})} }

// open subscribes at the server, in the way of its era.
func (t *topics) open(ctx context.Context, p *peer, topic *topic, uri string) error {
	if p.era != spec.EraModern {
		_, err := p.ask(ctx, methodSubscribe, uriParams(uri))
		return err
	}
	o := newOpening()
	c := &call{method: methodListen, to: o}
	filter := rpc.Set(nil, append(append([]byte{'['}, rpc.AppendText(nil, uri)...), ']'), "resourceSubscriptions")
	if err := p.request(ctx, c, t.k.listenParams(filter)); err != nil {
		return err
	}
	t.mu.Lock()
	topic.listen = c
	t.mu.Unlock()
	select {
	case err := <-o:
		return err
	case <-ctx.Done():
		p.giveUp(c, nil)
		return ctx.Err()
	}
}

func (k *keeper) listenParams(filter json.RawMessage) json.RawMessage {
	return k.hello.meta(rpc.Set(nil, filter, "notifications"), "")
}

// release ends a subscription. The server hears of it before anyone can begin it anew.
func (t *topics) release(uri string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	topic := t.byURI[uri]
	if topic == nil {
		return
	}
	if topic.count--; topic.count > 0 {
		return
	}
	delete(t.byURI, uri)
	t.k.mu.Lock()
	p := t.k.current
	t.k.mu.Unlock()
	switch {
	case p == nil:
	case p.era == spec.EraModern:
		if topic.listen != nil {
			p.giveUp(topic.listen, nil)
		}
	default:
		_ = p.requestNow(&call{method: methodUnsubscribe, to: nobody{}}, uriParams(uri))
	}
}

// restore subscribes anew at a server that has been started again, and waits for no
// answer.
func (t *topics) restore(p *peer, pr *profile) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for uri, topic := range t.byURI {
		if p.era != spec.EraModern {
			_ = p.requestNow(&call{method: methodSubscribe, to: nobody{}}, uriParams(uri))
			continue
		}
		topic.listen = &call{method: methodListen, to: nobody{}}
		filter := rpc.Set(nil, append(append([]byte{'['}, rpc.AppendText(nil, uri)...), ']'), "resourceSubscriptions")
		_ = p.requestNow(topic.listen, t.k.listenParams(filter))
	}
	if p.era == spec.EraModern {
		if filter := listChanges(pr); filter != nil {
			t.listen = &call{method: methodListen, to: nobody{}}
			_ = p.requestNow(t.listen, t.k.listenParams(filter))
		}
	}
}

// listChanges is the filter for all changes of lists that a server announces; nil if
// it announces none.
func listChanges(pr *profile) (filter json.RawMessage) {
	for _, kind := range []string{"tools", "prompts", "resources"} {
		if pr.can(kind, "listChanged") {
			filter = rpc.Set(filter, json.RawMessage("true"), kind+"ListChanged")
		}
	}
	return filter
}

func uriParams(uri string) json.RawMessage {
	return rpc.Set(nil, rpc.AppendText(nil, uri), "uri")
}

// requestNow is request for what must not wait: if the server does not read it fails.
func (p *peer) requestNow(c *call, params json.RawMessage) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return p.request(ctx, c, params)
}

// covers says whether a subscription to uri is one to what has changed: a server may
// name a part of what was subscribed to.
func covers(uri, changed string) bool {
	rest, ok := strings.CutPrefix(changed, uri)
	return ok && (rest == "" || strings.HasSuffix(uri, "/") || strings.IndexByte("/?#", rest[0]) >= 0)
}

// of gives the resource that a stream of notifications of a modern server is about,
// by the number of its request.
func (t *topics) of(number int64) (uri string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for uri, topic := range t.byURI {
		if topic.listen != nil && topic.listen.number == number {
			return uri, true
		}
	}
	return "", false
}

// opening waits until a stream of notifications of a modern server is acknowledged.
type opening chan error

func (o opening) acknowledged() {
	select {
	case o <- nil:
	default:
	}
}

func newOpening() opening { return make(opening, 2) }

func (o opening) answered(_ *call, m rpc.Message) {
	err := error(errors.New("the server has ended the subscription"))
	if m.Error != nil {
		e := rpc.ParseError(bytes.Clone(m.Error))
		err = e
	}
	select {
	case o <- err:
	default:
	}
}

func (opening) progressed(*call, rpc.Message) {}
