package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/spec"
)

// peer is the conversation with one process of a server, from its start to its end.
// Every request gets a number of the peer as its id, and the same as its progress
// token if the client wants progress: whatever clients call theirs, what comes back
// finds its way. It may be used by many goroutines.
type peer struct {
	proc     *process
	out      *outbox
	hears    audience
	findings *findings
	echo     io.Writer // where lines go that are no messages
	line     int       // bytes of one at most
	over     chan struct{}
	era      spec.Era     // set once it was greeted
	spoke    atomic.Int64 // when it was last heard of, in nanoseconds since it was started

	mu    sync.Mutex
	last  int64 // number that was given
	calls map[int64]*call
	given int   // how many of calls were given up
	ended error // why nothing can be asked any more
}

// audience hears what a server says by itself. It must not block, and keep nothing of
// the message, whose bytes are good only for the time of the call.
type audience interface {
	notified(p *peer, m rpc.Message)
	asked(p *peer, m rpc.Message)
	// ended is told that nothing more comes, before those who wait for an answer are:
	// nor does the server wait for one.
	ended(p *peer)
}

// call is a request that a server was asked.
type call struct {
	number int64
	id     json.RawMessage // the client's
	token  json.RawMessage // the client's progress token, nil for none
	method string
	log    string // modern: the level of log messages that it wants, "" for none
	to     receiver
	adapt  func(rpc.Message) rpc.Message // for a client of another era; nil for none
	given  bool                          // nobody waits for the answer any more
}

// receiver gets what belongs to a call; the same holds as for an audience. There is
// one answer, whatever becomes of the server.
type receiver interface {
	answered(c *call, m rpc.Message)
	progressed(c *call, m rpc.Message)
}

// errEnded says that the server of a conversation has ended.
var errEnded = errors.New("the server has ended")

const (
	maxGivenUp = 4096                   // calls that are remembered to be answered late
	drain      = 500 * time.Millisecond // for the last words of a process that has ended
)

// converse begins a conversation. It is over when the process has ended, or has closed
// its output: then whoever waits has got an error, and the process may have to be
// stopped.
func converse(proc *process, hears audience, f *findings, echo io.Writer, lim limits) *peer {
	p := &peer{
		proc: proc, out: newOutbox(lim.outbox), hears: hears, findings: f, echo: echo, line: lim.line,
		over: make(chan struct{}), calls: map[int64]*call{},
	}
	go p.write()
	go p.read()
	go func() {
		select {
		case <-proc.ended:
		case <-p.over:
			return
		}
		// What has it started may still hold the pipe.
		timer := time.NewTimer(drain)
		defer timer.Stop()
		select {
		case <-timer.C:
			p.finish(p.epitaph())
		case <-p.over:
		}
	}()
	return p
}

// epitaph says how the server ended.
func (p *peer) epitaph() error {
	select {
	case <-p.proc.ended:
		return fmt.Errorf("%w (%s)", errEnded, p.proc.end)
	default:
		return fmt.Errorf("%w (it closed its standard input or output)", errEnded)
	}
}

// finish answers everyone who waits.
func (p *peer) finish(why error) {
	p.mu.Lock()
	if p.ended != nil {
		p.mu.Unlock()
		return
	}
	p.ended = why
	calls := p.calls
	p.calls = nil
	p.mu.Unlock()
	p.out.close()
	p.hears.ended(p)
	for _, c := range calls {
		if !c.given {
			e := rpc.Errorf(rpc.CodeServer, "%s while it worked on this: it is not known how far it came", why)
			c.to.answered(c, e.Response(c.id))
		}
	}
	close(p.over)
}

// request sends a request for c, whose id, token, method and receiver are set; params
// are the client's. If it fails nothing was sent, and c gets no answer.
func (p *peer) request(ctx context.Context, c *call, params json.RawMessage) error {
	p.mu.Lock()
	if p.ended != nil {
		p.mu.Unlock()
		return p.ended
	}
	p.last++
	c.number = p.last
	p.calls[c.number] = c
	p.mu.Unlock()
	number := rpc.NumberID(c.number)
	if c.token != nil {
		params = rpc.Set(params, number, "_meta", "progressToken")
	}
	line := rpc.Message{ID: number, Method: c.method, Params: params}.Bytes()
	if err := p.out.put(ctx, append(line, '\n')); err != nil {
		p.mu.Lock()
		_, waits := p.calls[c.number]
		delete(p.calls, c.number)
		p.mu.Unlock()
		if waits {
			return err
		}
		return nil // it has been answered by finish
	}
	return nil
}

// send sends a notification, or the answer to a request of the server.
func (p *peer) send(ctx context.Context, m rpc.Message) error {
	return p.out.put(ctx, append(m.Bytes(), '\n'))
}

// offer is send for what must not wait: it is dropped if the server does not read.
func (p *peer) offer(m rpc.Message) { p.out.offer(append(m.Bytes(), '\n')) }

// giveUp tells the server that nobody waits for c any more, and sees to it that its
// receiver gets nothing more. It says whether c was still waiting.
func (p *peer) giveUp(c *call, reason json.RawMessage) bool {
	p.mu.Lock()
	waits := p.calls[c.number] == c && !c.given
	if waits {
		c.given = true
		p.given++
		p.forgetLocked()
	}
	p.mu.Unlock()
	if waits {
		params := rpc.Set(nil, rpc.NumberID(c.number), "requestId")
		if reason != nil {
			params = rpc.Set(params, reason, "reason")
		}
		p.offer(rpc.Message{Method: "notifications/cancelled", Params: params})
	}
	return waits
}

// forgetLocked bounds how many calls are kept that nobody waits for.
func (p *peer) forgetLocked() {
	if p.given <= maxGivenUp {
		return
	}
	for n, c := range p.calls {
		if c.given {
			delete(p.calls, n)
			p.given--
			return
		}
	}
}

// take ends a call that was answered; nil for an id that nobody waits for.
func (p *peer) take(id json.RawMessage) *call {
	n, ok := rpc.Number(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[n]
	if !ok || c == nil {
		return nil
	}
	delete(p.calls, n)
	if c.given {
		p.given--
	}
	return c
}

// waiting gives the call of a number that somebody waits for, or nil.
func (p *peer) waiting(id json.RawMessage) *call {
	n, ok := rpc.Number(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.calls[n]; ok && c != nil && !c.given {
		return c
	}
	return nil
}

// working says how many requests of clients the server works on, if it was heard of
// within a time, and none otherwise: then it may hang.
func (p *peer) working(within time.Duration) (n int) {
	if time.Since(p.proc.started)-time.Duration(p.spoke.Load()) > within {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls {
		if c.ofClient() && !c.given {
			n++
		}
	}
	return n
}

// ofClient says whether a call is not one of the bridge itself.
func (c *call) ofClient() bool {
	switch c.to.(type) {
	case answer, nobody, opening:
		return false
	}
	return true
}

// alone gives the only call of a client that somebody waits for; nil if there are
// more, or none. It is how something of the server finds its way that does not say
// where it belongs.
func (p *peer) alone() (only *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls {
		if c.given || !c.ofClient() {
			continue
		}
		if only != nil {
			return nil
		}
		only = c
	}
	return only
}

// read hears the server until its output ends.
func (p *peer) read() {
	lines := rpc.NewLineReader(p.proc.out, p.line)
	for {
		line, err := lines.Read()
		p.spoke.Store(int64(time.Since(p.proc.started)))
		var long *rpc.TooLongError
		switch {
		case err == nil:
			p.heard(bytes.TrimSpace(line))
		case errors.As(err, &long):
			p.tooLong(long)
		case errors.Is(err, io.ErrUnexpectedEOF) && len(bytes.TrimSpace(line)) > 0:
			p.findings.halfLine()
			p.heard(bytes.TrimSpace(line))
		default:
			p.hungUp()
			return
		}
	}
}

// write writes to the server until it takes no more. One that has closed its input is
// of no use, although it may still say something.
func (p *peer) write() {
	p.out.run(p.proc.in)
	timer := time.NewTimer(2 * drain)
	defer timer.Stop()
	select {
	case <-timer.C:
		p.finish(p.epitaph())
	case <-p.over:
	}
}

// hungUp waits a moment for the end of a process whose output has ended, since that
// says more.
func (p *peer) hungUp() {
	timer := time.NewTimer(drain)
	defer timer.Stop()
	select {
	case <-p.proc.ended:
	case <-timer.C:
	case <-p.over:
	}
	p.finish(p.epitaph())
}
