package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

const (
	// maxSubscriptions bounds the resources that are subscribed to again.
	maxSubscriptions = 1024
	// retoldWithin bounds the greeting of a server that has taken another's place.
	retoldWithin = 20 * time.Second
)

// memory is what the client of the legacy era has told the server, and a server in its
// place has to be told again.
type memory struct {
	mu            sync.Mutex
	initialize    rpc.Message // without a method before it was answered
	result        json.RawMessage
	initialized   bool
	level         rpc.Message
	subscriptions map[string]rpc.Message // by URI
}

// note notes a request that was answered well.
func (y *memory) note(m rpc.Message, result json.RawMessage) {
	y.mu.Lock()
	defer y.mu.Unlock()
	uri := string(rpc.Get(m.Params, "uri"))
	switch m.Method {
	case methodInitialize:
		y.initialize, y.result = m, slices.Clone(result)
	case methodSetLevel:
		y.level = m
	case methodSubscribe:
		if y.subscriptions == nil {
			y.subscriptions = map[string]rpc.Message{}
		}
		if len(y.subscriptions) < maxSubscriptions {
			y.subscriptions[uri] = m
		}
	case methodUnsubscribe:
		delete(y.subscriptions, uri)
	}
}

func (y *memory) noteInitialized() {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.initialized = true
}

// forget forgets everything, and says whether there was something.
func (y *memory) forget() bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	had := y.initialize.Method != ""
	y.initialize, y.result, y.initialized, y.level, y.subscriptions = rpc.Message{}, nil, false, rpc.Message{}, nil
	return had
}

// told gives all that is to be told again, in order, and the former result of
// initialize.
func (y *memory) told() (requests []rpc.Message, initialized bool, result json.RawMessage) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.initialize.Method == "" {
		return nil, false, nil
	}
	requests = append(requests, y.initialize)
	if y.level.Method != "" {
		requests = append(requests, y.level)
	}
	for _, uri := range slices.Sorted(maps.Keys(y.subscriptions)) {
		requests = append(requests, y.subscriptions[uri])
	}
	return requests, y.initialized, y.result
}

// retell greets a server that has taken another's place as the client did, without the
// client. The first server has nothing to be told.
func (d *door) retell(way link) error {
	requests, initialized, former := d.memory.told()
	if len(requests) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(d.life, retoldWithin)
	defer cancel()
	result, err := d.ask(ctx, way, requests[0])
	if err != nil {
		return fmt.Errorf("the server does not take the greeting of the client: %w", err)
	}
	if was, is := version(former), version(result); was != is {
		d.log.say("the server now speaks %s of MCP, the client %s", is, was)
	}
	if !initialized {
		return nil
	}
	if err := way.post(ctx, rpc.Message{Method: methodInitialized}); err != nil {
		return err
	}
	for _, m := range requests[1:] {
		_, err := d.ask(ctx, way, m)
		if _, lost := isLost(err); lost {
			return err
		}
		if err != nil {
			d.log.say("the server does not take %s again: %v", m.Method, err)
		}
	}
	way.follow()
	d.announce(rpc.Get(former, "capabilities"))
	return nil
}

func version(result json.RawMessage) string {
	v, _ := rpc.Text(rpc.Get(result, "protocolVersion"))
	return v
}

// ask makes a request of the door's own.
func (d *door) ask(ctx context.Context, way link, m rpc.Message) (result json.RawMessage, err error) {
	m.ID = d.ownID()
	var answer rpc.Message
	x := &exchange{m: m, revision: revisionOf(m), sent: func() {}, take: func(m rpc.Message) bool {
		if !m.Response() {
			d.hear(way, nil, m)
			return false
		}
		answer = m
		answer.Result, answer.Error = slices.Clone(m.Result), slices.Clone(m.Error)
		return true
	}}
	if err = way.call(ctx, x); err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, errors.New(rpc.ParseError(answer.Error).Message)
	}
	return answer.Result, nil
}
