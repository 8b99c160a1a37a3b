package bridge

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// reply is how the answers to a POST get to the client.
type reply struct {
	stream  *stream
	session *session // nil for a modern client
	batch   bool
	gone    func() // called if the client goes before the end; nil for nothing
}

// answer waits for what is due to a POST. If that is nothing but answers, and they
// come soon, it is JSON; else a stream, whose parts are sent as they come, and which
// shows that the connection lives.
func (b *bridge) answer(w http.ResponseWriter, r *http.Request, a *reply) {
	timer := time.NewTimer(b.lim.quiet)
	defer timer.Stop()
	for waiting := true; waiting; {
		something, changed := a.stream.begun()
		if something {
			break
		}
		select {
		case <-changed:
		case <-timer.C:
			waiting = false
		case <-r.Context().Done():
			if a.gone != nil {
				a.gone()
			}
			return
		}
	}
	if answers, code, ok := a.stream.whole(); ok {
		b.answerJSON(w, a, answers, code)
		return
	}
	p := &pour{stream: a.stream}
	if a.session != nil {
		p.ids, p.prime = true, a.session.version >= primeVersion
		a.session.publish(a.stream)
	}
	b.pour(w, r, p)
	if a.gone != nil && r.Context().Err() != nil {
		a.gone()
	}
}

func (b *bridge) answerJSON(w http.ResponseWriter, a *reply, answers [][]byte, code int) {
	status, body := http.StatusOK, answers[0]
	if a.batch {
		body = append(append([]byte{'['}, bytes.Join(answers, []byte(","))...), ']')
	}
	if a.session == nil {
		status = modernStatus(code)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(b.lim.write)) // where it cannot be set there is none
	writeJSON(w, status, body)
}

// modernStatus is the status of an answer of the modern era.
func modernStatus(code int) int {
	switch code {
	case rpc.CodeMethodNotFound:
		return http.StatusNotFound
	case rpc.CodeHeaderMismatch, rpc.CodeMissingCapability, rpc.CodeUnsupportedVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// pour is how a stream is written to a client.
type pour struct {
	stream  *stream
	from    int
	ids     bool // events have ids, to come back with
	prime   bool // the first one has only that
	take    bool // it takes over from a connection that may have been lost
	endless bool // it ends when the bridge does
	hungUp  bool // set by pour: it was the client that has ended it
}

// pour writes a stream to a client until it ends, or one of the two has gone. It says
// false, and has written nothing, if another client reads that stream.
func (b *bridge) pour(w http.ResponseWriter, r *http.Request, p *pour) bool {
	taken, ok := p.stream.attach(p.take)
	if !ok {
		return false
	}
	defer p.stream.detach(taken)
	h := w.Header()
	h.Set("Content-Type", typeStream)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	conn := http.NewResponseController(w)
	var stopping <-chan struct{}
	if p.endless {
		stopping = b.stopping
	}
	var out []byte
	if p.prime {
		out = rpc.Event{ID: p.stream.eventID(p.from), Data: []byte{}}.Append(out)
	}
	beat := time.NewTicker(b.lim.beat)
	defer beat.Stop()
	for first := true; ; first = false {
		v := p.stream.from(p.from)
		if v.lost && p.endless && !first { // one that comes again gets what there is: the ids say that something is missing
			return true // it could not keep up: it comes again, and knows that it has missed something
		}
		out = p.events(out, v)
		_ = conn.SetWriteDeadline(time.Now().Add(b.lim.write)) // where it cannot be set there is none
		_, err := w.Write(out)
		if err == nil {
			err = conn.Flush()
		}
		if err != nil {
			p.hungUp = !errors.Is(err, os.ErrDeadlineExceeded) // who does not read is still there
			return true
		}
		if out, p.from = out[:0], v.next; cap(out) > keepBuffer {
			out = nil
		}
		p.stream.wrote(v.next)
		if v.ended {
			return true
		}
		select {
		case <-v.changed:
		case <-beat.C:
			out = append(out, ":\n\n"...)
		case <-taken:
			return true
		case <-stopping:
			return true
		case <-r.Context().Done():
			p.hungUp = true
			return true
		}
	}
}

func (p *pour) events(out []byte, v view) []byte {
	for i, data := range v.messages {
		e := rpc.Event{Data: data}
		if p.ids {
			e.ID = p.stream.eventID(v.next - len(v.messages) + i + 1)
		}
		out = e.Append(out)
	}
	return out
}
