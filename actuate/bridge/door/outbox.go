package door

import (
	"context"
	"sync"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

const (
	// maxLetters bounds what waits to be sent, in messages.
	maxLetters = 1024
	// letterWithin bounds how long the server may take to accept a message without an
	// answer: what comes after it waits.
	letterWithin = 10 * time.Second
	// cancelledWithin is how long the answer to a request that was cancelled is taken
	// for. Most servers send none.
	cancelledWithin = 2 * time.Second
)

// letter is a message that has no answer: a notification, or a response.
type letter struct {
	m     rpc.Message
	after <-chan struct{}
	only  link          // nil, or the one that it is for
	done  chan struct{} // closed once it was sent, or given up; may be nil
}

func (l *letter) delivered() {
	if l.done != nil {
		close(l.done)
	}
}

// outbox keeps such messages in order.
type outbox struct {
	mu     sync.Mutex
	queue  []*letter
	busy   bool
	wake   chan struct{} // of size one
	closed chan struct{} // nil until it is closed; closed when it is empty
}

func (b *outbox) init() { b.wake = make(chan struct{}, 1) }

// put adds a letter, unless too many wait.
func (b *outbox) put(l *letter) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) >= maxLetters {
		return false
	}
	b.queue = append(b.queue, l)
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return true
}

// next gives the first one, or nil. The one before it is done with.
func (b *outbox) next() *letter {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy = len(b.queue) > 0
	if !b.busy {
		b.checkEmptyLocked()
		return nil
	}
	l := b.queue[0]
	b.queue[0], b.queue = nil, b.queue[1:]
	return l
}

// close gives a channel that is closed once all is sent.
func (b *outbox) close() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	closed := make(chan struct{})
	b.closed = closed
	b.checkEmptyLocked()
	return closed
}

func (b *outbox) checkEmptyLocked() {
	if b.closed != nil && !b.busy && len(b.queue) == 0 {
		close(b.closed)
		b.closed = nil
	}
}

// send sends what is in the outbox, one after another.
func (d *door) send() {
	for {
		l := d.outbox.next()
		if l == nil {
			select {
			case <-d.outbox.wake:
				continue
			case <-d.life.Done():
				return
			}
		}
		if err := d.post(l); err != nil && d.life.Err() == nil {
			d.log.say("cannot pass on %s: %v", nameOf(l.m), err)
		}
		l.delivered()
	}
}

func nameOf(m rpc.Message) string {
	if m.Response() {
		return "the answer to a request of the server"
	}
	return m.Method
}

// post sends one. It is not sent again where the server may have it, and where it is
// for a server that has gone nobody wants it.
func (d *door) post(l *letter) error {
	select {
	case <-l.after:
	case <-d.life.Done():
		return nil
	}
	for {
		way, err := d.enter(d.life)
		if err != nil {
			return nil // which was said
		}
		if l.only != nil && l.only != way {
			return nil
		}
		ctx, cancel := context.WithTimeout(d.life, letterWithin)
		err = way.post(ctx, l.m)
		cancel()
		if lost, ok := isLost(err); ok {
			if again := d.lose(way, lost); again && !lost.sent && l.only == nil {
				continue
			}
			return lost
		}
		if err == nil && l.m.Method == methodInitialized {
			d.memory.noteInitialized()
			way.follow()
		}
		return err
	}
}
