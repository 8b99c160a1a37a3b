package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// overHTTP is a probe of MCP at /mcp.
func overHTTP(p spec.Protocol) spec.Probe {
	return spec.Probe{MCP: &spec.MCP{Transport: spec.TransportHTTP, Port: "http", Path: "/mcp", Protocol: p}}
}

func overSSE() spec.Probe {
	return spec.Probe{MCP: &spec.MCP{Transport: spec.TransportSSE, Port: "http", Path: "/sse", Protocol: spec.ProtocolAuto}}
}

func verifying(q observe.Question) observe.Question {
	q.Verify = true
	return q
}

// sdkServer is one of the official SDK with a number of tools, three to a page.
func sdkServer(tools int) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "clock", Version: "1.5"}, &mcp.ServerOptions{PageSize: 3})
	for i := range tools {
		mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("tool-%02d", i)}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	}
	return s
}

// TestTheSDK: the servers that people write today, in each era and transport.
func TestTheSDK(t *testing.T) {
	t.Parallel()
	s := sdkServer(8)
	get := func(*http.Request) *mcp.Server { return s }
	streamable := func(o *mcp.StreamableHTTPOptions) http.Handler { return mcp.NewStreamableHTTPHandler(get, o) }
	for name, tc := range map[string]struct {
		handler http.Handler
		probe   spec.Probe
		era     spec.Era
		version string
	}{
		"stateful":         {streamable(nil), overHTTP(spec.ProtocolAuto), spec.EraLegacy, legacyVersion},
		"stateful, JSON":   {streamable(&mcp.StreamableHTTPOptions{JSONResponse: true}), overHTTP(spec.ProtocolAuto), spec.EraLegacy, legacyVersion},
		"legacy forced":    {streamable(&mcp.StreamableHTTPOptions{Stateless: true}), overHTTP(spec.ProtocolLegacy), spec.EraLegacy, legacyVersion},
		"modern":           {streamable(&mcp.StreamableHTTPOptions{Stateless: true}), overHTTP(spec.ProtocolAuto), spec.EraModern, modernVersion},
		"modern forced":    {streamable(&mcp.StreamableHTTPOptions{Stateless: true}), overHTTP(spec.ProtocolModern), spec.EraModern, modernVersion},
		"modern, JSON":     {streamable(&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}), overHTTP(spec.ProtocolAuto), spec.EraModern, modernVersion},
		"SSE (2024-11-05)": {mcp.NewSSEHandler(get, nil), overSSE(), spec.EraLegacy, sseVersion},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := serve(t, tc.handler.ServeHTTP).URL
			p, in := newProber(t), instance(t, base)
			q := question(in, tc.probe)
			if a := mustAsk(t, p, q); a != (observe.Answer{}) {
				t.Errorf("without verifying it says %+v", a)
			}
			a := mustAsk(t, p, verifying(q))
			want := spec.ServerInfo{
				Name: "clock", Version: "1.5", ProtocolVersion: tc.version, Era: tc.era,
				Tools: 8, URL: base + tc.probe.MCP.Path,
			}
			if a.Server == nil || *a.Server != want {
				t.Errorf("%+v, not %+v", a.Server, want)
			}
		})
	}
}

// TestForcedToTheWrongEra: a server that does not speak it fails, and says so.
func TestForcedToTheWrongEra(t *testing.T) {
	t.Parallel()
	s := sdkServer(0)
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	in := instance(t, serve(t, h.ServeHTTP).URL)
	_, err := ask(newProber(t), question(in, overHTTP(spec.ProtocolModern)), patience)
	fails(t, err, "(server/discover)", modernVersion)
}

// legacyServer is a hand-made one that knows nothing but its own era and counts
// its sessions.
type legacyServer struct {
	keepsForever bool // DELETE is 405
	unknown      int  // status for a session that it does not know
	asStream     bool // answers are event streams, whose first event is empty
	eager        bool // whatever comes without a session gets one, taken or not
	sulks        int  // how many pings get a 400 for nothing

	mu       sync.Mutex
	sessions map[string]bool
	made     int
	most     int // sessions at one time
	calls    map[string]int
}

func (s *legacyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.Header.Get("Mcp-Session-Id")
	if r.Method == http.MethodDelete && !s.keepsForever {
		delete(s.sessions, id)
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	m := posted(r)
	if s.calls == nil {
		s.calls, s.sessions = map[string]int{}, map[string]bool{}
	}
	s.calls[m.Method]++
	if m.Method == methodInitialize {
		s.made++
		id = fmt.Sprintf("s%d", s.made)
		s.sessions[id] = true
		s.most = max(s.most, len(s.sessions))
		w.Header().Set("Mcp-Session-Id", id)
		s.answer(w, m.ID, `{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"old","version":"0.1"}}`)
		return
	}
	if s.eager && id == "" {
		s.made++
		s.sessions["stray"] = true
		w.Header().Set("Mcp-Session-Id", "stray")
	}
	if m.Method == methodPing && s.sulks > 0 {
		s.sulks--
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	switch {
	case !s.sessions[id]:
		w.WriteHeader(s.unknown)
		fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`)
	case r.Header.Get("Mcp-Protocol-Version") != "2025-06-18":
		w.WriteHeader(http.StatusTeapot)
	case m.Method == methodInitialized:
		w.WriteHeader(http.StatusAccepted)
	default:
		s.answer(w, m.ID, `{}`)
	}
}

// posted is the message that a request brings.
func posted(r *http.Request) rpc.Message {
	body, _ := io.ReadAll(r.Body)
	m, _ := rpc.Parse(body)
	return m
}

func (s *legacyServer) answer(w http.ResponseWriter, id json.RawMessage, result string) {
	text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
	if s.asStream {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: 0\r\ndata:\r\n\r\n: comment\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\nevent: message\ndata: %s\n\n", text)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	fmt.Fprint(w, text)
}

func (s *legacyServer) count() (now, most, made int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions), s.most, s.made
}

func (s *legacyServer) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
}

// TestOneSession: 200 probes of three kinds, several at a time, are one session
// at the server, whether it can be ended or not.
func TestOneSession(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*legacyServer{
		"DELETE":         {unknown: http.StatusNotFound},
		"no DELETE":      {unknown: http.StatusBadRequest, keepsForever: true},
		"event streams":  {unknown: http.StatusBadRequest, asStream: true},
		"404 everywhere": {unknown: http.StatusNotFound, keepsForever: true, asStream: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, in := New(Options{}), instance(t, serve(t, s.ServeHTTP).URL)
			q := question(in, overHTTP(spec.ProtocolAuto))
			var all sync.WaitGroup
			for i := range 10 {
				all.Go(func() {
					for range 20 {
						q := q
						q.Verify = i%3 == 0
						if _, err := ask(p, q, patience); err != nil {
							t.Errorf("probe: %v", err)
						}
					}
				})
			}
			all.Wait()
			if now, most, made := s.count(); now != 1 || most != 1 || made != 1 {
				t.Errorf("%d sessions, %d at one time, %d in all", now, most, made)
			}
			if n := s.calls[methodDiscover]; n != 1 {
				t.Errorf("the era was asked for %d times", n)
			}
			s.restart() // within the instance: the session is gone
			mustAsk(t, p, q)
			p.Forget(in.ID)
			p.Close()
			left := 0
			if s.keepsForever {
				left = 1
			}
			if now, most, made := s.count(); now != left || most != 1 || made != 2 {
				t.Errorf("at the end: %d sessions, %d at one time, %d in all", now, most, made)
			}
		})
	}
}

// TestNoSessionIsLeftBehind: not one that came with the question for the era, nor
// one that the server refused although it knew it.
func TestNoSessionIsLeftBehind(t *testing.T) {
	t.Parallel()
	s := &legacyServer{unknown: http.StatusBadRequest, eager: true}
	p, in := newProber(t), instance(t, serve(t, s.ServeHTTP).URL)
	q := question(in, overHTTP(spec.ProtocolAuto))
	mustAsk(t, p, q)
	if now, most, made := s.count(); now != 1 || most != 1 || made != 2 {
		t.Errorf("%d sessions, %d at one time, %d in all, after the first probe", now, most, made)
	}
	s.mu.Lock()
	s.sulks = 1
	s.mu.Unlock()
	mustAsk(t, p, q)
	if now, most, made := s.count(); now != 1 || most != 1 || made != 3 {
		t.Errorf("%d sessions, %d at one time, %d in all, after a new one", now, most, made)
	}
}

// TestTheEraIsRemembered: the next instance of the same program is greeted in it
// at once, and one of another program is not.
func TestTheEraIsRemembered(t *testing.T) {
	t.Parallel()
	s := &legacyServer{unknown: http.StatusNotFound}
	p, in := newProber(t), instance(t, serve(t, s.ServeHTTP).URL)
	q := question(in, overHTTP(spec.ProtocolAuto))
	mustAsk(t, p, q)
	p.Forget(in.ID)
	next := *in
	next.ID = "two-2"
	q.Instance = &next
	mustAsk(t, p, q)
	if n := s.calls[methodDiscover]; n != 1 {
		t.Errorf("asked for the era %d times", n)
	}
	q.Entry = &spec.Entry{Hash: "other"}
	third := *in
	third.ID = "three-3"
	q.Instance = &third
	mustAsk(t, p, q)
	if n := s.calls[methodDiscover]; n != 2 {
		t.Errorf("asked for the era %d times, of two programs", n)
	}
}

// TestARememberedEraIsOnlyAHint: the program behind the hash may be a newer one.
func TestARememberedEraIsOnlyAHint(t *testing.T) {
	t.Parallel()
	sdk := sdkServer(1)
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, &mcp.StreamableHTTPOptions{Stateless: true})
	modernOnly := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		h.ServeHTTP(w, r)
	}
	p, in := newProber(t), instance(t, serve(t, modernOnly).URL)
	q := verifying(question(in, overHTTP(spec.ProtocolAuto)))
	p.eras.note(program{q.Entry.Hash, "http", "/mcp"}, spec.EraLegacy)
	if a := mustAsk(t, p, q); a.Server.Era != spec.EraModern {
		t.Errorf("%+v", a.Server)
	}
}

// TestASessionOfNoUseIsNotReplacedAgainAndAgain: a server that takes the greeting
// and refuses everything after it is not filled with sessions.
func TestASessionOfNoUseIsNotReplacedAgainAndAgain(t *testing.T) {
	t.Parallel()
	s := &legacyServer{unknown: http.StatusBadRequest, keepsForever: true}
	h := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"ping"`) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, "no pings, please")
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		s.ServeHTTP(w, r)
	}
	p, in := newProber(t), instance(t, serve(t, h).URL)
	for range 20 {
		_, err := ask(p, question(in, overHTTP(spec.ProtocolAuto)), patience)
		fails(t, err, "(ping): 400 Bad Request: no pings, please")
	}
	if now, _, _ := s.count(); now != 1 {
		t.Errorf("%d sessions", now)
	}
}

// TestASlowGreetingIsWaitedFor: probes that give up before the server has
// answered its greeting leave it one session, not one each.
func TestASlowGreetingIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := &legacyServer{unknown: http.StatusNotFound}
	release := make(chan struct{})
	h := func(w http.ResponseWriter, r *http.Request) {
		<-release
		s.ServeHTTP(w, r)
	}
	p, in := newProber(t), instance(t, serve(t, h).URL)
	q := question(in, overHTTP(spec.ProtocolLegacy))
	for range 5 {
		_, err := ask(p, q, 20*time.Millisecond)
		fails(t, err, "(greeting): no answer within")
	}
	close(release)
	mustAsk(t, p, q)
	if _, _, made := s.count(); made != 1 {
		t.Errorf("%d sessions were made", made)
	}
}

func TestUnauthorizedIsReachable(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		in := instance(t, serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }).URL)
		for _, probe := range []spec.Probe{overHTTP(spec.ProtocolAuto), overHTTP(spec.ProtocolLegacy), overSSE()} {
			if a := mustAsk(t, newProber(t), verifying(question(in, probe))); a != (observe.Answer{Unauthorized: true}) {
				t.Errorf("%d: %+v", status, a)
			}
		}
	}
}

// TestMCPBadAnswers: each is a failure that is named, within its bounds.
func TestMCPBadAnswers(t *testing.T) {
	t.Parallel()
	const js, es = "application/json", "text/event-stream"
	for name, tc := range map[string]struct {
		status     int
		kind, body string
		words      []string
	}{
		"garbage":        {200, js, "\x00\x01\x02 what?", []string{"is no JSON-RPC message", "what?"}},
		"half a JSON":    {200, js, `{"jsonrpc":"2.0","id":1,"resu`, []string{"is cut off", `"resu`}},
		"empty":          {200, js, "", []string{"it is empty"}},
		"a page":         {200, "text/html", "<html>welcome</html>", []string{"no JSON: it is text/html: <html>welcome"}},
		"no type":        {200, "", `{"jsonrpc":"2.0","id":1,"result":{}}`, []string{"no JSON"}},
		"wrong id":       {200, js, `{"jsonrpc":"2.0","id":77,"result":{}}`, []string{"the id 77, not 1"}},
		"id as string":   {200, js, `{"jsonrpc":"2.0","id":"1","result":{}}`, []string{`the id "1", not 1`}},
		"no id":          {200, js, `{"jsonrpc":"2.0","result":{}}`, []string{"the id (none), not 1"}},
		"a list":         {200, js, `[{"jsonrpc":"2.0","id":1,"result":{}}]`, []string{"no JSON-RPC message"}},
		"other JSON":     {200, js, `{"status":"ok"}`, []string{`no JSON-RPC 2.0 message: {"status":"ok"}`}},
		"neither":        {200, js, `{"jsonrpc":"2.0","id":1}`, []string{"neither result nor error"}},
		"an error":       {200, js, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"database is locked"}}`, []string{"error -32603: database is locked"}},
		"no version":     {200, js, `{"jsonrpc":"2.0","id":1,"result":{}}`, []string{"no protocolVersion"}},
		"odd result":     {200, js, `{"jsonrpc":"2.0","id":1,"result":[1]}`, []string{"the result does not fit"}},
		"not found":      {404, js, "Cannot POST /mcp", []string{"(initialize): 404 Not Found: Cannot POST /mcp"}},
		"broken":         {500, "text/plain", "Traceback:\n  x\nValueError: no", []string{"500 Internal Server Error: ValueError: no"}},
		"busy":           {503, "text/plain", "starting", []string{"(server/discover): 503 Service Unavailable: starting"}},
		"moved":          {302, "", "", []string{"302 Found"}},
		"empty stream":   {200, es, "", []string{"ended without an answer"}},
		"half a stream":  {200, es, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"resu\n", []string{"ended without an answer"}},
		"stream, id":     {200, es, "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n", []string{"the id 7, not 1"}},
		"stream, broken": {200, es, "data: {\"jsonrpc\":\n\n", []string{"is cut off"}},
		"error as text":  {200, js, `{"jsonrpc":"2.0","id":1,"error":"no"}`, []string{"no JSON-RPC message: an error has to be an object: {"}},
		"no object":      {200, js, `null`, []string{"no JSON-RPC message: a message has to be an object: null"}},
	} {
		in := instance(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
			if tc.status == 302 {
				w.Header().Set("Location", "/login")
			}
			w.Header()["Content-Type"] = []string{tc.kind}
			w.WriteHeader(tc.status)
			fmt.Fprint(w, tc.body)
		}).URL)
		_, err := ask(newProber(t), question(in, overHTTP(spec.ProtocolAuto)), patience)
		t.Logf("%s: %v", name, err)
		fails(t, err, tc.words...)
	}
}

// TestMCPWithoutEnd: what goes on for ever is cut off by its size or by time.
func TestMCPWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		handle http.HandlerFunc
		words  string
	}{
		"a body": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			endless(w, strings.Repeat(" ", 1000))
		}, "the answer does not end"},
		"events": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			endless(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n")
		}, "the event stream does not end"},
		"one event": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			endless(w, "data: "+strings.Repeat("x", 1000))
		}, "the event stream does not end"},
		"an error": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			endless(w, strings.Repeat("y", 1000))
		}, "409 Conflict: yyy"},
		"silence": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			hang(w, r, ": ping\n\n")
		}, "no answer within "}, // what was left of it when the attempt began
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := instance(t, serve(t, tc.handle).URL)
			within := patience
			if name == "silence" {
				within = 500 * time.Millisecond
			}
			_, err := ask(newProber(t), question(in, overHTTP(spec.ProtocolLegacy)), within)
			fails(t, err, tc.words)
		})
	}
}

// TestToolsWithoutEnd: a list of pages that leads back to itself.
func TestToolsWithoutEnd(t *testing.T) {
	t.Parallel()
	in := instance(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		m := posted(r)
		w.Header().Set("Content-Type", "application/json")
		result := `{"tools":[{}],"nextCursor":"again"}`
		if m.Method == methodInitialize {
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}`
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}).URL)
	_, err := ask(newProber(t), verifying(question(in, overHTTP(spec.ProtocolLegacy))), patience)
	fails(t, err, "tools/list does not end")
}

// TestSSEBadAnswers: what can go wrong with the older transport.
func TestSSEBadAnswers(t *testing.T) {
	t.Parallel()
	stream := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, text)
		}
	}
	for name, tc := range map[string]struct {
		handle http.HandlerFunc
		words  string
	}{
		"not found":   {http.NotFound, "GET http://127.0.0.1"},
		"a page":      {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }, "no event stream: it is text/plain"},
		"no endpoint": {stream("event: other\ndata: x\n\n"), "ended without an endpoint"},
		"elsewhere":   {stream("event: endpoint\ndata: http://192.0.2.1/messages\n\n"), "is not of this server"},
		"hangs up":    {stream("event: endpoint\ndata: /messages?id=1\n\n"), "(initialize): the event stream ended without an answer"},
		"wrong id":    {stream("event: endpoint\ndata: /m\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n\n"), "the id 9, not 1"},
		"endless stream": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			endless(w, ": keep alive\n\n")
		}, "the event stream does not end"},
	} {
		in := instance(t, serve(t, tc.handle).URL)
		_, err := ask(newProber(t), question(in, overSSE()), patience)
		t.Logf("%s: %v", name, err)
		fails(t, err, tc.words)
	}
}

// TestSSELeavesNoConnection: each probe has one of its own and closes it.
func TestSSELeavesNoConnection(t *testing.T) {
	t.Parallel()
	s := sdkServer(1)
	h := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil)
	var open sync.WaitGroup // streams
	p, in := newProber(t), instance(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			open.Add(1)
			defer open.Done()
		}
		h.ServeHTTP(w, r)
	}).URL)
	for range 20 {
		mustAsk(t, p, question(in, overSSE()))
	}
	open.Wait() // while the server runs on
}
