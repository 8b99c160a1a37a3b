package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// session is a client of the legacy era, from its initialize to its DELETE, or to its
// being idle for too long. It may be used by many goroutines.
type session struct {
	b       *bridge
	k       *keeper
	id      string
	version string
	// get is what does not belong to any POST.
	get *stream

	mu        sync.Mutex
	calls     map[rpc.Key]*pending
	posts     []*stream // that are being answered, the latest last
	streams   map[string]*stream
	retired   []*stream // those of streams that have ended, the oldest first
	last      int       // number that was given to a stream
	uris      map[string]*subscription
	level     string
	questions map[int64]question
	question  int64 // number that was given to one
	busy      int   // requests of HTTP that are being served
	used      time.Time
	left      bool // the client has hung up on get, and nothing has come since
	closed    bool
	over      chan struct{} // closed with it
}

// subscription is that of a session to a resource.
type subscription struct {
	// held says that it is one of the topics. Until then whoever subscribes has to end
	// it if the session does not want it any more.
	held bool
}

// pending is a request of the client that waits for its answer.
type pending struct {
	call   *call
	peer   *peer // nil while it was not sent yet
	stream *stream
	s      *session
	quit   context.CancelFunc // ends what it waits for before it is sent
	// For a modern server that may want input:
	params json.RawMessage // as they were sent
	rounds int
	asking bool // the client is being asked; guarded by the session, as call is then
}

func newSession(b *bridge, k *keeper, id, version string) *session {
	s := &session{
		b: b, k: k, id: id, version: version, get: newStream("0", -1, b.lim), used: time.Now(),
		calls: map[rpc.Key]*pending{}, streams: map[string]*stream{}, uris: map[string]*subscription{}, questions: map[int64]question{},
		over: make(chan struct{}),
	}
	s.streams[s.get.id] = s.get
	return s
}

// enter notes that a request of HTTP has come; leave that it was served.
func (s *session) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy++
	s.left = false
}

// leave is told whether the client has hung up on the stream of the session. One that
// is there at the end of another request does without that stream.
func (s *session) leave(r *http.Request, hungUp bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.used = time.Now()
	s.left = hungUp || s.left && r.Context().Err() != nil
}

// idle says since when nobody has used the session; false while somebody does. A
// request whose connection was lost keeps nobody here: its client has to come back.
func (s *session) idle() (since time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.busy == 0
}

// patience is how long the session lives without being used. A client that has had a
// stream and then no connection at all has most likely crashed: a server of its own does
// not wait for it as long as for one that never had a stream, which may be there between
// two calls.
func (s *session) patience() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left && !s.k.several {
		return min(s.b.lim.left, s.b.o.IdleTimeout)
	}
	return s.b.o.IdleTimeout
}

// close ends the session: what it waits for is given up, and the server is told that
// it wants nothing any more. A server of its own ends, too; it returns before that.
func (s *session) close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	close(s.over)
	calls, streams, uris := s.calls, s.streams, s.uris
	s.calls, s.streams, s.uris, s.level = map[rpc.Key]*pending{}, map[string]*stream{}, map[string]*subscription{}, ""
	s.mu.Unlock()
	for _, c := range calls {
		s.mu.Lock()
		p, at := c.peer, c.call
		s.mu.Unlock()
		if p != nil {
			p.giveUp(at, nil)
		}
		c.stream.answered(at, errSessionEnded.Response(at.id))
		c.quit()
	}
	for _, st := range streams {
		st.end()
	}
	if !s.k.several {
		go s.k.stop()
		return
	}
	for uri, sub := range uris {
		if sub.held {
			s.k.topics.release(uri)
		}
	}
	s.k.leave(s)
}

// stream makes the stream for a POST that waits for answers.
func (s *session) stream(want int) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	st := newStream(strconv.FormatInt(int64(s.last), 36), want, s.b.lim)
	s.posts = append(s.posts, st)
	return st
}

// unpost ends the time in which a POST is being answered.
func (s *session) unpost(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.posts {
		if s.posts[i] == st {
			s.posts = append(s.posts[:i], s.posts[i+1:]...)
			break
		}
	}
	if s.streams[st.id] == st {
		s.retired = append(s.retired, st)
		s.shedLocked()
	}
}

// publish lets a client that is cut off from a stream come back to it.
func (s *session) publish(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.streams[st.id] = st
	}
}

// shedLocked bounds what is kept for clients that might come back, the latest first.
func (s *session) shedLocked() {
	bytes, keep := 0, len(s.retired)
	for ; keep > 0; keep-- {
		if bytes += s.retired[keep-1].size(); len(s.retired)-keep >= s.b.lim.streams || bytes > 2*s.b.lim.streamBytes && keep < len(s.retired) {
			break
		}
	}
	for _, st := range s.retired[:keep] {
		delete(s.streams, st.id)
	}
	s.retired = s.retired[keep:]
}

// resumed gives the stream of an event id, and the number to go on from.
func (s *session) resumed(eventID string) (*stream, int, bool) {
	i := bytes.LastIndexByte([]byte(eventID), '_')
	if i < 0 {
		return nil, 0, false
	}
	number, err := strconv.Atoi(eventID[i+1:])
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.streams[eventID[:i]]
	return st, number, st != nil && err == nil && number >= 0
}

// relateLocked passes on what the server says without saying to which request it
// belongs: with the latest POST that is not answered yet, else with the GET. A POST that
// has its answer is still there for a moment, and its stream takes nothing any more.
func (s *session) relateLocked(data []byte) {
	for _, st := range slices.Backward(s.posts) {
		if st.put(data) {
			return
		}
	}
	s.get.put(data)
}

func (s *session) logLevel() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}

// event passes on a notification of the server, if it is one for this session.
func (s *session) event(e *event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.method {
	case noteLog:
		if e.wanted(s.level) {
			s.relateLocked(e.bytes())
		}
	case noteUpdated:
		for uri := range s.uris {
			if e.about(uri) {
				s.get.put(e.bytes())
				return
			}
		}
	case noteCancelled:
		s.withdrawnLocked(e)
	default:
		s.get.put(e.bytes())
	}
}
