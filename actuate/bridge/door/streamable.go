package door

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// The headers of Streamable HTTP.
const (
	headerSession  = "Mcp-Session-Id"
	headerRevision = "Mcp-Protocol-Version"
	headerLast     = "Last-Event-Id"
)

// endWithin is how long a stream may go on after the answer, so that its connection
// can be used again.
const endWithin = 100 * time.Millisecond

// streamable is a way by Streamable HTTP.
type streamable struct {
	d  *door
	at Endpoint
	// life ends with close.
	life context.Context
	end  context.CancelFunc

	mu       sync.Mutex
	session  string // empty where the server keeps none, or before it was greeted
	revision string // that the legacy era has agreed upon
	followed bool
}

func newStreamable(d *door, at Endpoint) *streamable {
	s := &streamable{d: d, at: at}
	s.life, s.end = context.WithCancel(d.life)
	return s
}

func (s *streamable) close() { s.end() }

// greeted notes what the answer to initialize has brought.
func (s *streamable) greeted(header http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = header.Get(headerSession)
}

func (s *streamable) agreed(result []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision = version(result)
}

// inSession adds what belongs to a session.
func (s *streamable) inSession(h http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session != "" {
		h.Set(headerSession, s.session)
	}
	if s.revision != "" {
		h.Set(headerRevision, s.revision)
	}
}

// mail sends one message.
func (s *streamable) mail(ctx context.Context, m rpc.Message, revision string, sent func()) (*http.Response, error) {
	req, err := s.at.request(ctx, http.MethodPost, s.at.URL, m.Bytes())
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	switch {
	case revision != "":
		s.d.params.mirror(req.Header, m, revision)
	case m.Method != methodInitialize:
		s.inSession(req.Header)
	}
	res, err := s.d.carry(req, s.at, sent)
	var refused *refusedError
	if errors.As(err, &refused) {
		return nil, s.refusal(refused, req.Header.Get(headerSession))
	}
	return res, err
}

// refusal tells the end of a session from a message that is not wanted.
func (s *streamable) refusal(e *refusedError, session string) error {
	if e.status == http.StatusNotFound && session != "" {
		return s.at.unknown(e)
	}
	return e
}

func (s *streamable) post(ctx context.Context, m rpc.Message) error {
	res, err := s.mail(ctx, m, revisionOf(m), nothing)
	if err == nil {
		discard(res)
	}
	return err
}

func (s *streamable) call(ctx context.Context, x *exchange) error {
	// Not bound to the life of the way: a request that another one's failure has
	// nothing to do with may still be answered.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := s.mail(ctx, x.m, x.revision, x.sent)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if x.m.Method == methodInitialize && x.revision == "" {
		s.greeted(res.Header)
	} else if x.revision != "" && res.Header.Get(headerSession) != "" {
		s.d.work.Go(func() { s.dismiss(res.Header.Get(headerSession)) }) // of a server of the other era
	}
	answered := false
	take := func(m rpc.Message) bool {
		if m.Error != nil && string(m.ID) == "null" {
			m.ID = x.m.ID // it could not make out what it was asked
		}
		if m.Response() && !sameID(m.ID, x.m.ID) {
			s.d.hear(s, nil, m)
			return false
		}
		if m.Response() && x.m.Method == methodInitialize {
			s.agreed(m.Result)
		}
		if answered || !x.take(m) {
			return false
		}
		answered = true
		time.AfterFunc(endWithin, cancel)
		return true
	}
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case "text/event-stream":
		err = s.stream(ctx, res, x.revision == "", &answered, take)
	case "application/json":
		err = s.document(res, take)
	default:
		err = fmt.Errorf("it is neither JSON nor an event stream, but %q (status %d)", kind, res.StatusCode)
	}
	return s.outcome(x, err, answered)
}

func sameID(a, b []byte) bool { return rpc.KeyOf(a) == rpc.KeyOf(b) }

// outcome says what became of a request that the server has begun to answer.
func (s *streamable) outcome(x *exchange, err error, answered bool) error {
	var lost *lostError
	switch {
	case answered:
		return nil
	case errors.As(err, &lost):
		return lost
	case err == nil:
		err = errors.New("it has none")
	}
	return fmt.Errorf("cannot read the answer of the server to %s: %w", x.m.Method, err)
}

// document takes an answer that is one document.
func (s *streamable) document(res *http.Response, take func(rpc.Message) bool) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxMessage+1))
	if err != nil {
		return s.at.trouble(err, true)
	}
	if len(body) > maxMessage {
		return fmt.Errorf("it is larger than %d bytes", maxMessage)
	}
	all, errs, _, err := rpc.ParseAll(body)
	if err != nil {
		return fmt.Errorf("%w: %s", err, firstLine(string(body)))
	}
	for i, m := range all {
		if errs[i] != nil {
			return errs[i]
		}
		take(m)
	}
	return nil
}

// leave ends the session.
func (s *streamable) leave() {
	s.mu.Lock()
	session := s.session
	s.session = ""
	s.mu.Unlock()
	if session != "" {
		s.dismiss(session)
	}
}

// dismiss tells the server that a session has ended. The way may be closed.
func (s *streamable) dismiss(session string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.life), farewell)
	defer cancel()
	req, err := s.at.request(ctx, http.MethodDelete, s.at.URL, nil)
	if err != nil {
		return
	}
	s.inSession(req.Header)
	req.Header.Set(headerSession, session)
	if res, err := s.d.http.Do(req); err == nil {
		res.Body.Close() // whatever it says
	}
}
