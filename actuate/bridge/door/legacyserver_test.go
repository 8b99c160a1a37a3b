package door

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// legacy is a server with sessions, as the revisions up to 2025-11-25 have them.
type legacy struct {
	name   string
	status int // for a session that it does not know
	// hold is closed to let the tool "slow" end.
	hold chan struct{}

	mu       sync.Mutex
	sessions map[string]bool
	made     int
	got      []string         // methods, and the session of each
	streams  chan struct{}    // each that was opened
	events   chan string      // for them
	replies  chan rpc.Message // that the client has sent
}

func newLegacy(name string) *legacy {
	return &legacy{
		name: name, status: http.StatusNotFound, hold: make(chan struct{}),
		sessions: map[string]bool{}, streams: make(chan struct{}, 10), events: make(chan string), replies: make(chan rpc.Message, 10),
	}
}

func (l *legacy) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.sessions)
}

func (l *legacy) log() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.got)
}

func (l *legacy) admit(w http.ResponseWriter, r *http.Request, m rpc.Message) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	session := r.Header.Get("Mcp-Session-Id")
	l.got = append(l.got, strings.TrimSpace(r.Method+" "+m.Method+" "+session))
	switch {
	case m.Method == methodInitialize:
		l.made++
		session = fmt.Sprintf("%s-%d", l.name, l.made)
		l.sessions[session] = true
		w.Header().Set("Mcp-Session-Id", session)
	case !l.sessions[session]:
		w.WriteHeader(l.status)
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no such session"}}`)
		return false
	case r.Header.Get("Mcp-Protocol-Version") != "2025-06-18":
		w.WriteHeader(http.StatusTeapot)
		return false
	}
	if r.Method == http.MethodDelete {
		delete(l.sessions, session)
	}
	return true
}

func (l *legacy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		if l.admit(w, r, rpc.Message{}) && r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			l.streams <- struct{}{}
			for {
				select {
				case data := <-l.events:
					push(w, "", data)
				case <-r.Context().Done():
					return
				}
			}
		}
		return
	}
	body := make([]byte, r.ContentLength)
	_, _ = readFull(r, body)
	m, _ := rpc.Parse(body)
	if !l.admit(w, r, m) {
		return
	}
	switch {
	case m.Response():
		l.replies <- m
		w.WriteHeader(http.StatusAccepted)
	case m.Notification():
		w.WriteHeader(http.StatusAccepted)
	default:
		l.answer(w, r, m)
	}
}

func (l *legacy) answer(w http.ResponseWriter, r *http.Request, m rpc.Message) {
	result := fmt.Sprintf(`{"by":%q,"method":%q}`, l.name, m.Method)
	switch name, _ := rpc.Text(rpc.Get(m.Params, "name")); {
	case m.Method == methodInitialize:
		result = greeting
	case name == "slow":
		select {
		case <-l.hold:
		case <-r.Context().Done():
			return
		}
	case name == "asks":
		push(w, "", `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`)
		select {
		case a := <-l.replies:
			result = string(a.Bytes())
		case <-r.Context().Done():
			return
		}
		push(w, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
		return
	case name == "dies":
		panic(http.ErrAbortHandler)
	}
	reply(w, m.ID, result)
}

func readFull(r *http.Request, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var k int
		k, err = r.Body.Read(b[n:])
		n += k
	}
	return n, err
}

// moving is an endpoint that a test moves.
type moving struct {
	mu  sync.Mutex
	to  Endpoint
	err error
}

func (m *moving) endpoint(context.Context) (Endpoint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.to, m.err
}

func (m *moving) move(url string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.to, m.err = Endpoint{URL: url}, err
}

// placed is a server at a place of its own.
type placed struct {
	*legacy
	at *httptest.Server
}

func (p placed) url() string { return p.at.URL }

// goAway ends the server, with every connection to it.
func (p placed) goAway() {
	p.at.CloseClientConnections()
	p.at.Close()
}

// follower is a client whose endpoint moves.
type follower struct {
	*client
	where *moving
}

// openBetween gives a client that has greeted the first of two servers; a test moves
// it on to the second.
func openBetween(t *testing.T) (first, second placed, c follower) {
	t.Helper()
	place := func(l *legacy) placed { return placed{l, serve(t, l.ServeHTTP)} }
	first, second = place(newLegacy("a")), place(newLegacy("b"))
	where := &moving{to: Endpoint{URL: first.url()}}
	c = follower{open(t, where.endpoint), where}
	c.greet()
	return first, second, c
}
