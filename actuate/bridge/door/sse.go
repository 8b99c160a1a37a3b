package door

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// openedWithin bounds how long a server may take to say where it takes messages.
const openedWithin = 10 * time.Second

// sse is a way by HTTP+SSE of 2024-11-05: one stream brings everything that the server
// says, and its end is that of the session.
type sse struct {
	d        *door
	at       Endpoint
	messages string // the URL that takes them
	life     context.Context
	end      context.CancelFunc

	mu      sync.Mutex
	waiting map[rpc.Key]*parcel // what was asked
	lost    bool
}

// parcel is a request whose answer comes on the stream.
type parcel struct {
	x    *exchange
	done chan struct{} // closed when it has its answer, or the stream has ended
	ok   bool          // it has its answer
}

// openSSE opens the stream. The error is a *lostError or a *refusedError.
func openSSE(d *door, at Endpoint) (*sse, error) {
	s := &sse{d: d, at: at, waiting: map[rpc.Key]*parcel{}}
	s.life, s.end = context.WithCancel(d.life)
	late := time.AfterFunc(openedWithin, s.end)
	events, body, err := s.open()
	if !late.Stop() {
		if err == nil {
			body.Close()
		}
		err = at.trouble(context.DeadlineExceeded, false)
	}
	if err != nil {
		s.end()
		return nil, err
	}
	d.work.Go(func() { s.read(events, body) })
	return s, nil
}

func (s *sse) open() (*rpc.EventReader, io.Closer, error) {
	req, err := s.at.request(s.life, http.MethodGet, s.at.URL, nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := s.d.carry(req, s.at, nothing)
	if err != nil {
		return nil, nil, err
	}
	if !isStream(res) {
		res.Body.Close()
		return nil, nil, fmt.Errorf("the server at %s opens no event stream", s.at.URL)
	}
	events := rpc.NewEventReader(res.Body, maxMessage)
	if s.messages, err = s.endpoint(events); err != nil {
		res.Body.Close()
		return nil, nil, err
	}
	return events, res.Body, nil
}

// endpoint reads where messages are taken. It has to be at the same server.
func (s *sse) endpoint(events *rpc.EventReader) (string, error) {
	for {
		e, err := events.Read()
		if err != nil {
			return "", s.at.trouble(err, false)
		}
		if e.Name != "endpoint" {
			continue
		}
		base, err := url.Parse(s.at.URL)
		if err != nil {
			return "", err
		}
		to, err := base.Parse(string(e.Data))
		if err != nil || to.Host != base.Host || to.Scheme != base.Scheme {
			return "", fmt.Errorf("the server at %s names an endpoint that is not its own: %s", s.at.URL, firstLine(string(e.Data)))
		}
		return to.String(), nil
	}
}

// read passes on what comes, until the stream ends.
func (s *sse) read(events *rpc.EventReader, body io.Closer) {
	defer body.Close()
	stop := context.AfterFunc(s.life, func() { body.Close() })
	defer stop()
	err := error(nil)
	for err == nil || tooLong(err) {
		var e rpc.Event
		if e, err = events.Read(); err == nil && e.IsMessage() {
			s.take(e.Data)
		}
	}
	s.broken()
	if s.life.Err() == nil {
		s.d.lose(s, s.at.trouble(err, false))
	}
}

// take takes the data of one event.
func (s *sse) take(data []byte) {
	all, errs, _, err := rpc.ParseAll(data)
	if err != nil {
		s.d.log.say("the server sends what is no message: %s", firstLine(string(data)))
		return
	}
	for i, m := range all {
		if errs[i] != nil {
			continue
		}
		p := s.parcelOf(m)
		if p == nil {
			s.d.hear(s, nil, m)
			continue
		}
		p.ok = p.x.take(m)
		close(p.done)
	}
}

// parcelOf gives the request that m answers, once.
func (s *sse) parcelOf(m rpc.Message) *parcel {
	if !m.Response() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := rpc.KeyOf(m.ID)
	p := s.waiting[key]
	delete(s.waiting, key)
	return p
}

// broken ends the waiting of all.
func (s *sse) broken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = true
	for _, p := range s.waiting {
		close(p.done)
	}
	clear(s.waiting)
}

func (s *sse) expect(x *exchange) (*parcel, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &parcel{x: x, done: make(chan struct{})}
	if !s.lost {
		s.waiting[rpc.KeyOf(x.m.ID)] = p
	}
	return p, !s.lost
}

func (s *sse) forget(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, rpc.KeyOf(x.m.ID))
}

func (s *sse) call(ctx context.Context, x *exchange) error {
	p, ok := s.expect(x)
	if !ok {
		return s.at.trouble(io.EOF, false)
	}
	defer s.forget(x)
	if err := s.mail(ctx, x.m, x.sent); err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if !p.ok {
		return s.at.trouble(io.EOF, true)
	}
	return nil
}

func (s *sse) post(ctx context.Context, m rpc.Message) error { return s.mail(ctx, m, nothing) }

func (s *sse) mail(ctx context.Context, m rpc.Message, sent func()) error {
	req, err := s.at.request(ctx, http.MethodPost, s.messages, m.Bytes())
	if err != nil {
		return err
	}
	res, err := s.d.carry(req, s.at, sent)
	var refused *refusedError
	if errors.As(err, &refused) && refused.status == http.StatusNotFound {
		return s.at.unknown(refused)
	}
	if err == nil {
		discard(res)
	}
	return err
}

// follow has nothing to do: all comes on the one stream.
func (s *sse) follow() {}

// leave has nothing to do: the session ends with the stream.
func (s *sse) leave() {}

func (s *sse) close() { s.end() }
