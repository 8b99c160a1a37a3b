package door

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

const (
	// retryPause lies before a stream is taken up again, unless the server says
	// otherwise; at most maxRetryPause.
	retryPause    = time.Second
	maxRetryPause = 30 * time.Second
	// maxResumed is how often a stream is taken up again that brings nothing.
	maxResumed = 5
)

// position is how far an event stream was read.
type position struct {
	last  string        // id of the last event; empty where events have none
	retry time.Duration // that the server has asked for
	moved bool          // something has come since it was last looked at
}

func (p *position) pause() time.Duration {
	if p.retry > 0 {
		return min(p.retry, maxRetryPause)
	}
	return retryPause
}

// events passes on what a stream brings, until it ends or take says that this is all.
// The error is that of reading; nil at a proper end.
func (p *position) events(r io.Reader, take func(rpc.Message) bool) error {
	events := rpc.NewEventReader(r, maxMessage)
	for {
		e, err := events.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p.moved = true
		if e.ID != "" {
			p.last = e.ID
		}
		if e.Retry > 0 {
			p.retry = e.Retry
		}
		if !e.IsMessage() {
			continue
		}
		all, errs, _, err := rpc.ParseAll(e.Data)
		if err != nil {
			return fmt.Errorf("%w: %s", err, firstLine(string(e.Data)))
		}
		for i, m := range all {
			if errs[i] == nil {
				take(m)
			}
		}
	}
}

// stream takes an answer that is an event stream. Where that breaks off before the
// answer and the server has numbered its events, it is taken up again.
func (s *streamable) stream(ctx context.Context, res *http.Response, resumable bool, answered *bool, take func(rpc.Message) bool) error {
	var p position
	body := res.Body
	for idle := 0; ; idle++ {
		err := p.events(body, take)
		body.Close()
		switch {
		case *answered || ctx.Err() != nil:
			return nil
		case err != nil && tooLong(err):
			return err
		case !resumable || p.last == "" || idle >= maxResumed:
			if err == nil {
				err = io.EOF
			}
			return s.at.trouble(err, true)
		}
		if p.moved {
			p.moved, idle = false, 0
		}
		if res, err = s.resume(ctx, &p); err != nil {
			return err
		}
		body = res.Body
	}
}

func tooLong(err error) bool {
	_, is := errors.AsType[*rpc.TooLongError](err)
	return is
}

// resume takes up a stream that was broken off.
func (s *streamable) resume(ctx context.Context, p *position) (*http.Response, error) {
	select {
	case <-time.After(p.pause()):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	res, err := s.get(ctx, p.last)
	if err != nil {
		return nil, s.at.trouble(err, true)
	}
	if !isStream(res) {
		res.Body.Close()
		return nil, s.at.trouble(fmt.Errorf("the stream has broken off, and it cannot be taken up again (%s)", res.Status), true)
	}
	return res, nil
}

func (s *streamable) get(ctx context.Context, last string) (*http.Response, error) {
	req, err := s.at.request(ctx, http.MethodGet, s.at.URL, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set(headerLast, last)
	}
	s.inSession(req.Header)
	return s.d.http.Do(req)
}

func isStream(res *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return res.StatusCode == http.StatusOK && kind == "text/event-stream"
}

// follow takes what the server says by itself: in the legacy era there is a stream for
// it, unless the server has none.
func (s *streamable) follow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.followed {
		s.followed = true
		s.d.work.Go(s.listen)
	}
}

// listen reads that stream until the way is closed. Its end is that of the server
// where nobody answers any more.
func (s *streamable) listen() {
	var p position
	for idle := 0; s.life.Err() == nil; idle++ {
		res, err := s.get(s.life, p.last)
		switch {
		case s.life.Err() != nil:
			return
		case err != nil:
			s.d.lose(s, s.at.trouble(err, false))
			return
		case res.StatusCode == http.StatusNotFound && s.hasSession():
			s.d.lose(s, s.at.unknown(refusedBy(res)))
			res.Body.Close()
			return
		case !isStream(res):
			res.Body.Close()
			return
		}
		_ = p.events(res.Body, func(m rpc.Message) bool { s.d.hear(s, nil, m); return false })
		res.Body.Close()
		if p.moved {
			p.moved, idle = false, 0
		}
		select {
		case <-time.After(min(p.pause()<<min(idle, 5), maxRetryPause)):
		case <-s.life.Done():
		}
	}
}

func (s *streamable) hasSession() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session != ""
}
