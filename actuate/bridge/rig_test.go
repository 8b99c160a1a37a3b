//go:build unix

package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// soon bounds what a test waits for.
const soon = 20 * time.Second

// rig is a bridge under test, with a server of a kind behind it.
type rig struct {
	t    *testing.T
	b    *bridge
	url  string
	log  *journal
	http *http.Client
	stop func() error
}

type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// start runs a bridge until the test ends.
func start(t *testing.T, kind string, change ...func(*Options, *limits)) *rig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The variable travels in the command, since tests run at the same time.
	o := Options{
		Name: "test", Command: []string{"/usr/bin/env", role + "=serve," + kind, self},
		Grace:   3 * time.Second,
		Backoff: spec.Backoff{Initial: spec.Duration(20 * time.Millisecond), Max: spec.Duration(100 * time.Millisecond), Factor: 2, ResetAfter: spec.Duration(time.Hour)},
	}
	lim := defaultLimits()
	for _, c := range change {
		c(&o, &lim)
	}
	if o, err = o.withDefaults(); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &rig{t: t, log: &journal{}, url: "http://" + listener.Addr().String() + "/mcp"}
	g.b = newBridge(o, lim, listener)
	g.b.log = g.log
	// What lies idle is closed on this side, so that no request meets a connection that
	// the bridge is about to close.
	transport := &http.Transport{MaxIdleConnsPerHost: 200, IdleConnTimeout: headerTimeout / 2}
	g.http = &http.Client{Transport: transport}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.b.run(ctx, listener) }()
	var once sync.Once
	var result error
	g.stop = func() error {
		once.Do(func() {
			cancel()
			select {
			case result = <-ended:
			case <-time.After(soon):
				t.Errorf("the bridge does not stop; log:\n%s", g.log)
			}
			transport.CloseIdleConnections()
		})
		return result
	}
	t.Cleanup(func() {
		_ = g.stop()
		if t.Failed() {
			t.Logf("log of the bridge:\n%s", g.log)
		}
	})
	return g
}

// answerOf is what came of a request of HTTP.
type answerOf struct {
	status int
	header http.Header
	kind   string
	events []rpc.Event
	bodies []string // the messages: one of JSON, or those of the events
}

// message gives the last message, which is the answer.
func (a *answerOf) message() string {
	if len(a.bodies) == 0 {
		return ""
	}
	return a.bodies[len(a.bodies)-1]
}

// do sends a request; headers are pairs, of which an empty value takes one away.
func (g *rig) do(ctx context.Context, method, body string, headers ...string) (*http.Response, error) {
	return g.send(ctx, method, strings.NewReader(body), headers...)
}

func (g *rig) send(ctx context.Context, method string, body io.Reader, headers ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, g.url, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		switch name, value := headers[i], headers[i+1]; {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}
	return g.http.Do(r)
}

func (g *rig) request(method, body string, headers ...string) *answerOf {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), soon)
	defer cancel()
	resp, err := g.do(ctx, method, body, headers...)
	if err != nil {
		g.t.Errorf("%s %s: %v", method, body, err)
		return &answerOf{}
	}
	return g.read(resp)
}

func (g *rig) read(resp *http.Response) *answerOf {
	g.t.Helper()
	defer resp.Body.Close()
	a := &answerOf{status: resp.StatusCode, header: resp.Header, kind: resp.Header.Get("Content-Type")}
	if a.kind != "text/event-stream" {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			g.t.Errorf("reading a body: %v", err)
		}
		if len(body) > 0 {
			a.bodies = []string{string(body)}
		}
		return a
	}
	events := rpc.NewEventReader(resp.Body, 64<<20)
	for {
		e, err := events.Read()
		if err != nil {
			return a
		}
		a.events = append(a.events, e)
		if len(e.Data) > 0 {
			a.bodies = append(a.bodies, string(e.Data))
		}
	}
}

// client is a session of the legacy era.
type client struct {
	*rig
	session string
}

func (g *rig) client(version ...string) *client {
	g.t.Helper()
	v := latestLegacy
	if len(version) > 0 {
		v = version[0]
	}
	a := g.request("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+v+`","capabilities":{"sampling":{},"roots":{"listChanged":true}},"clientInfo":{"name":"c","version":"1"}}}`)
	id := a.header.Get("Mcp-Session-Id")
	if a.status != 200 || id == "" {
		g.t.Fatalf("initialize: %d %s", a.status, a.message())
	}
	c := &client{g, id}
	if a := c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); a.status != 202 {
		g.t.Fatalf("initialized: %d %s", a.status, a.message())
	}
	return c
}

func (c *client) post(body string, headers ...string) *answerOf {
	c.t.Helper()
	return c.request("POST", body, append([]string{"Mcp-Session-Id", c.session}, headers...)...)
}

// call calls a tool and gives the whole answer.
func (c *client) call(id, tool, text string, n int) *answerOf {
	c.t.Helper()
	return c.post(callBody(id, tool, text, n))
}

func callBody(id, tool, text string, n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q,"n":%d},"_meta":{"progressToken":%s}}}`, id, tool, text, n, id)
}

// said gives the text of the answer of a tool.
func said(message string) string {
	var m struct {
		Result struct {
			Content []struct{ Text string }
		}
		Error *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		return "no JSON: " + message
	}
	if m.Error != nil {
		return fmt.Sprintf("error %d: %s", m.Error.Code, m.Error.Message)
	}
	if len(m.Result.Content) == 0 {
		return ""
	}
	return m.Result.Content[0].Text
}

func (g *rig) report() *observe.BridgeReport { g.t.Helper(); return g.reportWithin(healthTimeout) }

// reportWithin gives the server a time to answer.
func (g *rig) reportWithin(d time.Duration) *observe.BridgeReport {
	g.t.Helper()
	resp, err := g.http.Get(fmt.Sprintf("%s%s?timeout=%d", strings.TrimSuffix(g.url, "/mcp"), observe.BridgePage, d.Milliseconds()))
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	var r observe.BridgeReport
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		g.t.Fatal(err)
	}
	if (resp.StatusCode == 200) != (r.Problem == "") {
		g.t.Errorf("status %d with the problem %q", resp.StatusCode, r.Problem)
	}
	return &r
}

// awaitEnd waits until the bridge has ended by itself.
func (g *rig) awaitEnd() {
	g.t.Helper()
	eventually(g.t, func() string {
		resp, err := g.http.Get(g.url)
		if err != nil {
			return ""
		}
		resp.Body.Close()
		return "it serves"
	})
}

// eventually waits until what gives "".
func eventually(t *testing.T, what func() string) {
	t.Helper()
	deadline := time.Now().Add(soon)
	for {
		wrong := what()
		if wrong == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not come about: %s", wrong)
		}
		<-time.After(5 * time.Millisecond)
	}
}
