package door

import (
	"context"
	"sync"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

const (
	// maxCalls is how many requests are with the server at a time. Others wait for
	// their turn, while answers and cancellations pass them by.
	maxCalls = 256
	// maxWaiting and maxWaitingBytes bound those. What is beyond is refused.
	maxWaiting      = 16 << 10
	maxWaitingBytes = 64 << 20
)

// call is a request of the client that has no answer yet.
type call struct {
	m        rpc.Message
	revision string // of the modern era; empty in the legacy one
	after    <-chan struct{}
	begin    func()

	// ctx ends with end: when the answer is not waited for any more.
	ctx context.Context
	end context.CancelFunc
	// sent is closed once it was written to a server, answered once it has its answer
	// or gets none.
	sent, answered chan struct{}
	sentOnce       sync.Once
	// way is the one that it was sent on last, and withdrawn says that the client does
	// not want it any more. Both are guarded by calls.mu.
	way       link
	withdrawn bool

	// What follows is of the goroutine that sees to it.
	retries      retries
	acknowledged bool // a subscription, which the client has heard of
}

func (c *call) markSent() { c.sentOnce.Do(func() { close(c.sent) }) }

// calls are all that are not answered, by id.
type calls struct {
	mu      sync.Mutex
	all     map[rpc.Key]*call
	waiting []*call
	bytes   int // of those that wait
	running int
	closed  bool
	settled chan struct{} // closed when there are none; nil while nobody waits for it
}

func (cs *calls) init() { cs.all = map[rpc.Key]*call{} }

// add takes a call in, and begins it unless there are too many. The error is for the
// client.
func (cs *calls) add(c *call) *rpc.Error {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	key := rpc.KeyOf(c.m.ID)
	switch {
	case cs.closed:
		return nil
	case cs.all[key] != nil:
		return rpc.Errorf(rpc.CodeInvalidRequest, "the id %s is that of a request that has no answer yet", c.m.ID)
	case cs.running < maxCalls:
		cs.running++
		defer c.begin()
	case len(cs.waiting) >= maxWaiting || cs.bytes+len(c.m.Params) > maxWaitingBytes:
		return rpc.Errorf(rpc.CodeServer, "too many requests at a time: %d are under way, and %d wait for their turn", cs.running, len(cs.waiting))
	default:
		cs.waiting = append(cs.waiting, c)
		cs.bytes += len(c.m.Params)
	}
	cs.all[key] = c
	return nil
}

// leave is called at the end of one that was begun: the next has its turn.
func (cs *calls) leave() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.running--
	for len(cs.waiting) > 0 && !cs.closed {
		next := cs.waiting[0]
		cs.waiting[0], cs.waiting = nil, cs.waiting[1:]
		cs.bytes -= len(next.m.Params)
		if next.ctx.Err() == nil {
			cs.running++
			next.begin()
			break
		}
		cs.takeLocked(next)
	}
}

// take says whether c has no answer yet; from then on it has.
func (cs *calls) take(c *call) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.takeLocked(c)
}

func (cs *calls) takeLocked(c *call) bool {
	key := rpc.KeyOf(c.m.ID)
	if cs.all[key] != c {
		return false
	}
	delete(cs.all, key)
	close(c.answered)
	cs.checkSettledLocked()
	return true
}

// withdraw marks the call that the client does not want answered any more, and gives
// it, with the way that it is on; nil where there is none.
func (cs *calls) withdraw(id []byte) (*call, link) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.all[rpc.KeyOf(id)]
	if c == nil {
		return nil, nil
	}
	c.withdrawn = true
	return c, c.way
}

// embark notes the way that c is on. It is false where it is not wanted any more.
func (cs *calls) embark(c *call, way link) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.way = way
	return !c.withdrawn
}

func (cs *calls) isWithdrawn(c *call) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return c.withdrawn
}

// endStreams gives up what nobody waits for: what the client has withdrawn, and what
// has no answer before its time.
func (cs *calls) endStreams() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, c := range cs.all {
		if c.m.Method == methodListen || c.withdrawn {
			c.end()
		}
	}
}

// idle gives a channel that is closed when all are answered.
func (cs *calls) idle() <-chan struct{} {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	settled := make(chan struct{})
	cs.settled = settled
	cs.checkSettledLocked()
	return settled
}

func (cs *calls) checkSettledLocked() {
	if cs.settled != nil && len(cs.all) == 0 {
		close(cs.settled)
		cs.settled = nil
	}
}

// close begins no further call, and takes none in.
func (cs *calls) close() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.closed = true
}
