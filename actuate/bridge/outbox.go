package bridge

import (
	"context"
	"io"
	"sync"
)

// outbox holds the lines that go to a server, so that a server which does not read
// holds up nobody but those who wait for room. One goroutine writes them (run); what
// has gathered meanwhile is written at once.
type outbox struct {
	limit int // bytes

	mu     sync.Mutex
	lines  [][]byte
	bytes  int           // of lines, and of those being written
	room   chan struct{} // closed, and replaced, whenever something was written
	wake   chan struct{} // of size one
	never  chan struct{} // is never closed
	closed chan struct{}
	once   sync.Once
}

func newOutbox(limit int) *outbox {
	return &outbox{
		limit: limit, room: make(chan struct{}), wake: make(chan struct{}, 1),
		never: make(chan struct{}), closed: make(chan struct{}),
	}
}

// put adds a line, which has to end with a line break and is not copied. Where there
// is no room it waits for some; what is given up was not sent, and never will be.
func (o *outbox) put(ctx context.Context, line []byte) error {
	for {
		room := o.offer(line)
		if room == nil {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		case <-o.closed:
			return errEnded
		}
	}
}

// offer adds a line if there is room at once. Else it gives what is closed when there
// may be some.
func (o *outbox) offer(line []byte) (room <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-o.closed:
		return o.never
	default:
	}
	if o.bytes > 0 && o.bytes+len(line) > o.limit {
		return o.room
	}
	o.lines, o.bytes = append(o.lines, line), o.bytes+len(line)
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil
}

// close ends run, at the latest when w takes no more.
func (o *outbox) close() { o.once.Do(func() { close(o.closed) }) }

// run writes to w until the outbox is closed or w is broken.
func (o *outbox) run(w io.Writer) {
	defer o.close()
	buffer := make([]byte, 0, writeSize)
	for {
		select {
		case <-o.wake:
		case <-o.closed:
			return
		}
		o.mu.Lock()
		lines := o.lines
		o.lines = nil
		o.mu.Unlock()
		written := 0
		for i, line := range lines {
			written += len(line)
			buffer = append(buffer, line...)
			lines[i] = nil
			if i == len(lines)-1 || len(buffer)+len(lines[i+1]) > writeSize {
				if _, err := w.Write(buffer); err != nil {
					return
				}
				buffer = buffer[:0]
			}
		}
		if cap(buffer) > keepBuffer {
			buffer = make([]byte, 0, writeSize)
		}
		o.wrote(written)
	}
}

const (
	writeSize  = 32 << 10
	keepBuffer = 256 << 10
)

// wrote makes room.
func (o *outbox) wrote(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= n
	close(o.room)
	o.room = make(chan struct{})
}
