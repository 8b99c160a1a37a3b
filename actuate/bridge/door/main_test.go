package door

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is how long something may take that is to happen at once.
const soon = 20 * time.Second

// client is one at the other end of a door.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	out  chan rpc.Message
	end  context.CancelFunc
	done chan error

	mu   sync.Mutex
	said []string // by the door, on standard error
}

// options are what a test changes of the defaults.
type options func(*Options)

func within(d time.Duration) options { return func(o *Options) { o.Patience = d } }

// open makes a door to whatever endpoint gives.
func open(t *testing.T, endpoint func(context.Context) (Endpoint, error), opts ...options) *client {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	in, toDoor := io.Pipe()
	fromDoor, out := io.Pipe()
	c := &client{t: t, in: toDoor, out: make(chan rpc.Message, 1000), end: end, done: make(chan error, 1)}
	o := Options{Endpoint: endpoint, In: in, Out: out, Log: c.log, Patience: soon}
	for _, opt := range opts {
		opt(&o)
	}
	go func() {
		c.done <- Run(ctx, o)
		out.Close()
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := rpc.NewLineReader(fromDoor, maxMessage)
		for {
			line, err := lines.Read()
			if err != nil {
				close(c.out)
				return
			}
			m, err := rpc.Parse([]byte(string(line)))
			if err != nil {
				t.Errorf("the door wrote %q: %v", line, err)
			}
			c.out <- m
		}
	}()
	t.Cleanup(func() {
		toDoor.Close()
		end()
		fromDoor.Close()
		<-read
		if t.Failed() {
			t.Logf("it said: %q", c.said)
		}
	})
	return c
}

func (c *client) log(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, fmt.Sprintf(format, args...))
}

// says waits until the door has logged something.
func (c *client) says(text string) {
	c.t.Helper()
	until(c.t, "the door says "+text, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return strings.Contains(strings.Join(c.said, "\n"), text)
	})
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(soon)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not within %v: %s", soon, what)
		}
	}
}

func (c *client) send(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		c.t.Fatalf("cannot send: %v", err)
	}
}

// request is a request without a revision.
func (c *client) request(id, method, params string) {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

func (c *client) next() rpc.Message {
	c.t.Helper()
	select {
	case m, ok := <-c.out:
		if !ok {
			c.t.Fatal("the door has closed its output")
		}
		return m
	case <-time.After(soon):
		c.t.Fatalf("nothing came within %v", soon)
	}
	return rpc.Message{}
}

// answer gives the next message, which is to be the answer to id.
func (c *client) answer(id string) rpc.Message {
	c.t.Helper()
	m := c.next()
	if !m.Response() || string(m.ID) != id {
		c.t.Fatalf("got %s, want the answer to %s", m.Bytes(), id)
	}
	return m
}

// result gives the result of id, which has one.
func (c *client) result(id string) string {
	c.t.Helper()
	m := c.answer(id)
	if m.Error != nil {
		c.t.Fatalf("got %s, want a result", m.Bytes())
	}
	return string(m.Result)
}

// fails wants an error as the answer to id that has these texts.
func (c *client) fails(id string, texts ...string) *rpc.Error {
	c.t.Helper()
	m := c.answer(id)
	if m.Error == nil {
		c.t.Fatalf("got %s, want an error", m.Bytes())
	}
	e := rpc.ParseError(m.Error)
	for _, text := range texts {
		if !strings.Contains(e.Message, text) {
			c.t.Errorf("the error is %q: it does not say %q", e.Message, text)
		}
	}
	return e
}

// greet makes the handshake of the legacy era.
func (c *client) greet() {
	c.t.Helper()
	c.request(`"hello"`, methodInitialize, `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	c.result(`"hello"`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// close ends standard input, and waits for a good end.
func (c *client) close() {
	c.t.Helper()
	c.in.Close()
	c.ends()
}

func (c *client) ends() {
	c.t.Helper()
	select {
	case err := <-c.done:
		if err != nil {
			c.t.Errorf("Run: %v", err)
		}
		c.done <- nil
	case <-time.After(soon):
		c.t.Fatal("the door does not end")
	}
}

// at is an endpoint that stays where it is.
func at(s *httptest.Server) func(context.Context) (Endpoint, error) {
	return func(context.Context) (Endpoint, error) { return Endpoint{URL: s.URL + "/mcp"}, nil }
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// post reads the message of a POST; for others it answers with 405.
func post(w http.ResponseWriter, r *http.Request) (rpc.Message, bool) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return rpc.Message{}, false
	}
	body, _ := io.ReadAll(r.Body)
	m, err := rpc.Parse(body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return m, false
	}
	if !m.Request() {
		w.WriteHeader(http.StatusAccepted)
		return m, false
	}
	return m, true
}

// reply answers with JSON.
func reply(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// push writes one event.
func push(w http.ResponseWriter, id, data string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(rpc.Event{ID: id, Data: []byte(data)}.Append(nil))
	w.(http.Flusher).Flush()
}

const greeting = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}`
