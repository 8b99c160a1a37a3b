package bridge

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// heard deals with one line of the server. Nothing here waits for anybody, so that a
// client that is slow, or gone, holds up no other.
func (p *peer) heard(line []byte) {
	if len(line) == 0 {
		return
	}
	if line[0] == '[' { // a batch, as 2025-03-26 has it
		all, errs, _, err := rpc.ParseAll(line)
		if err != nil {
			p.noMessage(line)
			return
		}
		for i, m := range all {
			if errs[i] == nil {
				p.message(m)
			}
		}
		return
	}
	m, err := rpc.Parse(line)
	if err != nil {
		p.noMessage(line)
		return
	}
	p.message(m)
}

func (p *peer) message(m rpc.Message) {
	switch {
	case m.Response():
		p.response(m)
	case m.Request():
		p.hears.asked(p, m)
	case m.Method == "notifications/progress":
		p.progress(m)
	default:
		p.hears.notified(p, m)
	}
}

// response brings an answer to whom it belongs.
func (p *peer) response(m rpc.Message) {
	c := p.take(m.ID)
	switch {
	case c == nil:
		p.findings.unasked(m.ID)
	case !c.given:
		m.ID = c.id
		c.to.answered(c, m)
	}
}

// progress brings a notification of progress to the call that it is about. One that
// comes after the answer is dropped: to the client that token means nothing any more.
func (p *peer) progress(m rpc.Message) {
	c := p.waiting(rpc.Get(m.Params, "progressToken"))
	if c != nil && c.token != nil {
		m.Params = rpc.Set(m.Params, c.token, "progressToken")
		c.to.progressed(c, m)
	}
}

// noMessage passes on to the log what has no business on standard output.
func (p *peer) noMessage(line []byte) {
	p.findings.noJSON(line)
	out := append(make([]byte, 0, min(len(line), maxEcho)+1), line[:min(len(line), maxEcho)]...)
	_, _ = p.echo.Write(append(out, '\n')) // there is nowhere to complain to
}

// maxEcho is how much of such a line goes to the log.
const maxEcho = 16 << 10

// tooLong deals with a line that was not kept. Its beginning usually tells whose
// answer it was.
func (p *peer) tooLong(e *rpc.TooLongError) {
	p.findings.tooLong(e.Length)
	if !bytes.HasPrefix(bytes.TrimSpace(e.Head), []byte("{")) {
		p.noMessage(e.Head)
		return
	}
	id := rpc.Get(e.Head, "id")
	if id == nil || bytes.HasSuffix(e.Head, id) || rpc.Get(e.Head, "method") != nil {
		return
	}
	if c := p.take(id); c != nil && !c.given {
		err := rpc.Errorf(rpc.CodeServer, "the answer of the server has %d bytes: at most %d are passed on", e.Length, p.line)
		c.to.answered(c, err.Response(c.id))
	}
}

// ask sends a request of the bridge itself and waits for the result. An error of the
// server is a *rpc.Error.
func (p *peer) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	a := make(answer, 1)
	c := &call{method: method, to: a}
	if err := p.request(ctx, c, params); err != nil {
		return nil, err
	}
	select {
	case m := <-a:
		if m.Error != nil {
			return nil, rpc.ParseError(m.Error)
		}
		return m.Result, nil
	case <-ctx.Done():
		p.giveUp(c, nil)
		return nil, ctx.Err()
	}
}

// answer receives the one of a request of the bridge itself.
type answer chan rpc.Message

func (a answer) answered(_ *call, m rpc.Message) {
	a <- rpc.Message{ID: m.ID, Result: bytes.Clone(m.Result), Error: bytes.Clone(m.Error)}
}

func (answer) progressed(*call, rpc.Message) {}

// nobody receives what is of no interest.
type nobody struct{}

func (nobody) answered(*call, rpc.Message)   {}
func (nobody) progressed(*call, rpc.Message) {}
