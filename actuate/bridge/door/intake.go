package door

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// The methods that something depends on.
const (
	methodInitialize   = "initialize"
	methodInitialized  = "notifications/initialized"
	methodCancelled    = "notifications/cancelled"
	methodListen       = "subscriptions/listen"
	methodAcknowledged = "notifications/subscriptions/acknowledged"
	methodCallTool     = "tools/call"
	methodListTools    = "tools/list"
	methodReadResource = "resources/read"
	methodGetPrompt    = "prompts/get"
	methodSubscribe    = "resources/subscribe"
	methodUnsubscribe  = "resources/unsubscribe"
	methodSetLevel     = "logging/setLevel"
	methodPing         = "ping"
)

// intake is what the goroutine that reads In keeps.
type intake struct {
	d *door
	// after is closed once the handshake has come so far that what follows may be
	// sent.
	after <-chan struct{}
}

// begun is a step of the handshake that is behind us.
var begun = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// read takes messages from the client until there are no more. It does not wait for
// the server, so that a cancellation is never late.
func (d *door) read(r io.Reader) error {
	in := &intake{d: d, after: begun}
	lines := rpc.NewLineReader(r, maxMessage)
	for {
		line, err := lines.Read()
		var tooLong *rpc.TooLongError
		switch {
		case errors.As(err, &tooLong):
			d.refuse(nil, rpc.Errorf(rpc.CodeInvalidRequest, "%v: at most %d are", tooLong, maxMessage))
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
			return err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			in.line(slices.Clone(line))
		}
	}
}

// line takes one line, whose bytes are kept.
func (in *intake) line(line []byte) {
	all, errs, _, err := rpc.ParseAll(line)
	if err != nil {
		in.d.refuse(nil, err)
		return
	}
	for i, m := range all {
		switch {
		case errs[i] != nil:
			in.d.refuse(m.ID, errs[i])
		case m.Request():
			in.request(m)
		case m.Response():
			in.response(m)
		default:
			in.notification(m)
		}
	}
}

func (in *intake) request(m rpc.Message) {
	c := &call{m: m, revision: revisionOf(m), after: in.after, sent: make(chan struct{}), answered: make(chan struct{})}
	c.ctx, c.end = context.WithCancel(in.d.life)
	c.begin = func() { in.d.work.Go(func() { in.d.answer(c) }) }
	if err := in.d.calls.add(c); err != nil {
		c.end()
		in.d.refuse(m.ID, err)
		return
	}
	if m.Method == methodInitialize {
		in.after = c.answered
	}
}

// response takes the client's answer to a request of the server. Where that server is
// not there any more, nobody wants it.
func (in *intake) response(m rpc.Message) {
	if of, id, ok := in.d.asked.answered(m.ID); ok {
		m.ID = id
		in.d.outbox.put(&letter{m: m, after: in.after, only: of})
	}
}

func (in *intake) notification(m rpc.Message) {
	l := &letter{m: m, after: in.after}
	switch m.Method {
	case methodInitialized:
		l.done = make(chan struct{})
		in.after = l.done
	case methodCancelled:
		if l.only = in.d.withdraw(m); l.only == nil {
			return
		}
	}
	if !in.d.outbox.put(l) {
		in.d.log.say("the server takes no notifications: %s is dropped", m.Method)
		l.delivered()
	}
}

// refuse answers a message that is not sent.
func (d *door) refuse(id []byte, err error) {
	var e *rpc.Error
	if !errors.As(err, &e) {
		e = rpc.Errorf(rpc.CodeInternal, "%v", err)
	}
	d.out.write(e.Response(id))
}

// withdraw takes a cancellation. It gives the way to the server that has to be told:
// in the legacy era, where the call was sent already. In the modern one the end of the
// request over HTTP says it.
func (d *door) withdraw(m rpc.Message) link {
	c, way := d.calls.withdraw(rpc.Get(m.Params, "requestId"))
	if c == nil {
		return nil
	}
	select {
	case <-c.sent:
		if c.revision == "" {
			time.AfterFunc(cancelledWithin, c.end) // unless its answer comes all the same
			return way
		}
	default:
	}
	d.calls.take(c)
	c.end()
	return nil
}
