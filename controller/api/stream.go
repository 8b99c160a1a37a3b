package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"
)

// Bounds of the streams: answers that go on until the peer has enough.
const (
	// maxStreams is how many there are at once. Each has a connection of its own
	// beside those of maxConns, so that streams cannot keep requests waiting.
	maxStreams = 64
	// streamPatience is how long a peer may take to read a streamBuffer. One that
	// has read nothing for so long is cut off.
	streamPatience = 30 * time.Second
	streamBuffer   = 16 << 10
	// streamLook is how long a stream rests after a change, so that a burst is one
	// look at the world.
	streamLook = 50 * time.Millisecond
	// streamPoll is after which time the world is looked at without a change.
	streamPoll = 5 * time.Second
)

// bounds are those of the streams, for tests to set.
type bounds struct {
	streams              int
	patience, look, poll time.Duration
}

func standardBounds() bounds { return bounds{maxStreams, streamPatience, streamLook, streamPoll} }

// connection is what a server knows of the connection that a request came by.
type connection struct {
	// refused is why the peer gets no answer; nil if it does.
	refused error
	// slot is the connection's place among maxConns.
	slot *limitConn
	// ending is done when the server ends.
	ending context.Context
}

// connectionKey is the context key of a *connection.
type connectionKey struct{}

// connectionOf gives an empty one where no Server has taken the request.
func connectionOf(ctx context.Context) *connection {
	if c, ok := ctx.Value(connectionKey{}).(*connection); ok {
		return c
	}
	return &connection{ending: context.Background()}
}

// stream is an answer of JSON lines. It is used by one goroutine.
type stream struct {
	// ctx ends with the request and with the server: whoever follows something
	// ends the stream then, and the peer sees a clean end.
	ctx   context.Context
	close func()
	buf   *bufio.Writer
	enc   *json.Encoder
	to    *patientResponse
}

// openStream begins a stream, which has to be closed. Where there are too many it
// answers so itself.
func (h *handler) openStream(w http.ResponseWriter, r *http.Request) (*stream, bool) {
	select {
	case h.streams <- struct{}{}:
	default:
		writeFailure(w, failure(http.StatusTooManyRequests, "%d streams are open already (watches, followed logs and events), and that is as many as there may be: end some of them", cap(h.streams)))
		return nil, false
	}
	to := &patientResponse{w, http.NewResponseController(w), h.bounds.patience}
	// A stream may take for ever, and net/http would take a deadline of reading
	// that has passed for a peer that has gone.
	if err := errors.Join(to.control.SetReadDeadline(time.Time{}), to.control.SetWriteDeadline(time.Time{})); err != nil && !errors.Is(err, http.ErrNotSupported) {
		<-h.streams
		writeFailure(w, failure(http.StatusInternalServerError, "cannot stream: %v", err))
		return nil, false
	}
	conn := connectionOf(r.Context())
	if conn.slot != nil {
		conn.slot.release()
	}
	ctx, cancel := context.WithCancel(r.Context())
	unlink := context.AfterFunc(conn.ending, cancel)
	buf := bufio.NewWriterSize(to, streamBuffer)
	w.Header().Set("Content-Type", linesMedia)
	return &stream{
		ctx: ctx, buf: buf, enc: newEncoder(buf), to: to,
		close: func() { unlink(); cancel(); <-h.streams },
	}, true
}

// linesMedia is the media type of a stream.
const linesMedia = "application/jsonl"

// flush hands on what was written. The error says that the peer is gone, or too
// slow.
func (s *stream) flush() error {
	if err := s.buf.Flush(); err != nil {
		return err
	}
	return s.to.flush()
}

// patientResponse gives each write its own deadline.
type patientResponse struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
}

// Write fails if the peer does not take it in time.
func (p *patientResponse) Write(b []byte) (int, error) {
	p.extend()
	return p.ResponseWriter.Write(b)
}

func (p *patientResponse) flush() error {
	p.extend()
	return p.control.Flush()
}

// extend does nothing where there are no deadlines, as in a recorder.
func (p *patientResponse) extend() { _ = p.control.SetWriteDeadline(time.Now().Add(p.patience)) }

// release gives the slot back while the connection goes on.
func (c *limitConn) release() { c.once.Do(func() { <-c.slots }) }

// slotOf is the slot of a connection; nil where it needs none.
func slotOf(c net.Conn) *limitConn {
	limited, _ := c.(*limitConn)
	return limited
}
