package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// pages is a server with one path for each way to answer.
func pages(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/ok":
		fmt.Fprint(w, "fine")
	case "/locked":
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, "first line\n\x1b[31mdatabase is locked\n\n")
	case "/long":
		w.WriteHeader(http.StatusInternalServerError)
		endless(w, strings.Repeat("x", 1000))
	case "/once":
		http.Redirect(w, r, "/ok", http.StatusFound)
	case "/loop":
		http.Redirect(w, r, "/loop", http.StatusFound)
	case "/away":
		http.Redirect(w, r, "http://192.0.2.1/elsewhere", http.StatusFound)
	case "/endless":
		endless(w, strings.Repeat("x", 1000))
	case "/trickle":
		hang(w, r, "begin")
	case "/silent":
		<-r.Context().Done()
	case "/headers":
		if r.Host != "example.test" || r.Header.Get("X-Token") != "a" || r.Header.Get("User-Agent") != "mine" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, r.Host, r.Header)
		}
	default:
		http.NotFound(w, r)
	}
}

func get(path string) spec.Probe {
	return spec.Probe{HTTPGet: &spec.HTTPGetAction{Path: path, Port: "http"}}
}

func TestHTTPGet(t *testing.T) {
	t.Parallel()
	p, in := newProber(t), instance(t, serve(t, pages).URL)
	base := "http://127.0.0.1:" + strings.TrimPrefix(in.Ports.String(), "http=")
	for _, tc := range []struct {
		path  string
		words []string // nil: it succeeds
	}{
		{path: "/ok"},
		{path: "/once"},
		{path: "/away"},
		{"/locked", []string{"GET " + base + "/locked: 503 Service Unavailable: [31mdatabase is locked"}},
		{"/long", []string{"500 Internal Server Error: xxxx"}},
		{"/loop", []string{"redirects more than 10 times"}},
		{"/endless", []string{"200 OK, but the body does not end"}},
		{"/missing", []string{"404 Not Found: 404 page not found"}},
	} {
		_, err := ask(p, question(in, get(tc.path)), patience)
		if tc.words != nil {
			fails(t, err, tc.words...)
		} else if err != nil {
			t.Errorf("%s: %v", tc.path, err)
		}
	}
}

func TestHTTPGetNamesTheDeadline(t *testing.T) {
	t.Parallel()
	p, in := newProber(t), instance(t, serve(t, pages).URL)
	for path, words := range map[string]string{
		"/silent":  "no answer within 2s",
		"/trickle": "200 OK, but the body did not end within 2s",
	} {
		_, err := ask(p, question(in, get(path)), 2*time.Second)
		fails(t, err, words)
	}
}

func TestHTTPGetSendsTheHeaders(t *testing.T) {
	t.Parallel()
	p, in := newProber(t), instance(t, serve(t, pages).URL)
	probe := get("/headers")
	probe.HTTPGet.HTTPHeaders = []spec.HTTPHeader{{Name: "Host", Value: "example.test"}, {Name: "x-token", Value: "a"}, {Name: "User-Agent", Value: "mine"}}
	mustAsk(t, p, question(in, probe))
	hook := &spec.Hook{HTTPGet: probe.HTTPGet}
	if err := p.Do(t.Context(), nil, in, hook); err != nil {
		t.Errorf("as a hook: %v", err)
	}
}

func TestHTTPGetChecksNoCertificate(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(pages))
	t.Cleanup(s.Close)
	in := instance(t, s.URL)
	probe := get("/ok")
	probe.HTTPGet.Scheme = spec.SchemeHTTPS
	mustAsk(t, newProber(t), question(in, probe))
	_, err := ask(newProber(t), question(in, get("/ok")), patience)
	fails(t, err, "400 Bad Request") // plain HTTP to a TLS port
}

// TestNothingListens: what is refused, and a port that does not exist, say so.
func TestNothingListens(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	in := instance(t, "http://"+l.Addr().String())
	p := newProber(t)
	tcp := spec.Probe{TCPSocket: &spec.TCPSocketAction{Port: "http"}}
	mustAsk(t, p, question(in, tcp))
	l.Close()
	for _, probe := range []spec.Probe{tcp, get("/"), {MCP: &spec.MCP{Port: "http"}}, {A2A: &spec.A2A{Port: "http"}}} {
		_, err := ask(p, question(in, probe), patience)
		fails(t, err, "connection refused", l.Addr().String())
	}
	_, err = ask(p, question(in, spec.Probe{TCPSocket: &spec.TCPSocketAction{Port: "admin"}}), patience)
	fails(t, err, `port "admin"`, "only http=")
	_, err = ask(p, question(&observe.Instance{}, get("/")), patience)
	fails(t, err, "no ports")
}

// TestGarbageInsteadOfHTTP: what speaks another protocol, or hangs up, is named.
func TestGarbageInsteadOfHTTP(t *testing.T) {
	t.Parallel()
	for banner, words := range map[string]string{
		"SSH-2.0-OpenSSH_9.6\r\n": "malformed HTTP",
		"":                        "closed before the answer",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 2*maxHeader): "header",
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc":          "closed before the answer was complete",
	} {
		in := instance(t, "http://"+speak(t, banner))
		_, err := ask(newProber(t), question(in, get("/")), patience)
		fails(t, err, words)
	}
}

// speak listens and says the same to everybody, then hangs up.
func speak(t testing.TB, banner string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write([]byte(banner))
			c.Close()
		}
	}()
	return l.Addr().String()
}

// TestNoConnectionIsKept: neither open, nor waiting out its time on the port of
// the server, where it would keep one without SO_REUSEADDR from starting again.
func TestNoConnectionIsKept(t *testing.T) {
	t.Parallel()
	open := make(chan http.ConnState, 64)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Close {
			w.WriteHeader(http.StatusTeapot) // asked to close first
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew || state == http.StateClosed {
			open <- state
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	mustAsk(t, newProber(t), question(instance(t, s.URL), get("/")))
	for _, want := range []http.ConnState{http.StateNew, http.StateClosed} {
		select {
		case got := <-open:
			if got != want {
				t.Fatalf("the connection is %v, not %v", got, want)
			}
		case <-time.After(patience):
			t.Fatalf("the connection is never %v", want)
		}
	}
}

func TestA2ACards(t *testing.T) {
	t.Parallel()
	const modern = `{"name":"mend","version":"1.2","supportedInterfaces":[{"url":"http://127.0.0.1/a2a","protocolBinding":"JSONRPC"}],"skills":[{},{}]}`
	const old = `{"name":"mend","version":"1.2","url":"http://127.0.0.1/old","protocolVersion":"0.3.0"}`
	card := func(url string, skills int) *spec.CardInfo {
		return &spec.CardInfo{Name: "mend", Version: "1.2", URL: url, Skills: skills}
	}
	for _, tc := range []struct {
		at, body string
		status   int
		want     *spec.CardInfo
		words    string
	}{
		{at: cardPaths[0], body: modern, want: card("http://127.0.0.1/a2a", 2)},
		{at: cardPaths[1], body: old, want: card("http://127.0.0.1/old", 0)},
		{at: "/card", body: old, want: card("http://127.0.0.1/old", 0)},
		{at: cardPaths[0], status: http.StatusForbidden},
		{at: cardPaths[0], body: `{"name":"mend","url":"x"}`, words: "the card has no version"},
		{at: cardPaths[0], body: `{"version":"1","url":"x"}`, words: "the card has no name"},
		{at: cardPaths[0], body: `{"name":"mend","version":"1","supportedInterfaces":[]}`, words: "no URL of an interface"},
		{at: cardPaths[0], body: `{"name":"mend","ver`, words: `it is cut off: {"name":"mend","ver`},
		{at: cardPaths[0], body: `<html>hello</html>`, words: "<html>hello</html>"},
		{at: cardPaths[0], body: ``, words: "it is empty"},
		{at: "/nowhere", body: modern, words: "agent.json: 404 Not Found"},
		{at: cardPaths[0], status: http.StatusInternalServerError, body: "broken", words: "500 Internal Server Error: broken"},
	} {
		in := instance(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != tc.at {
				http.NotFound(w, r)
				return
			}
			if tc.status != 0 {
				w.WriteHeader(tc.status)
			}
			fmt.Fprint(w, tc.body)
		}).URL)
		probe := spec.Probe{A2A: &spec.A2A{Port: "http"}}
		if tc.at == "/card" {
			probe.A2A.Path = tc.at
		}
		q := question(in, probe)
		q.Verify = true
		answer, err := ask(newProber(t), q, patience)
		if tc.words != "" {
			fails(t, err, tc.words)
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", tc.at, tc.body, err)
		} else if tc.want == nil != answer.Unauthorized || tc.want != nil && (answer.Card == nil || *answer.Card != *tc.want) {
			t.Errorf("%s %s: %+v", tc.at, tc.body, answer)
		}
	}
}

// TestExecIsHandedOn: as a probe and as a hook, with its result.
func TestExecIsHandedOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("exec test: exit code 1")
	p := New(Options{Exec: func(_ context.Context, e *spec.Entry, in *observe.Instance, argv []string) error {
		if e.Hash != "abc" || in.ID != "one-1" || len(argv) != 1 {
			t.Errorf("handed on: %v, %v, %q", e, in, argv)
		}
		if argv[0] == "good" {
			return nil
		}
		return broken
	}})
	in := &observe.Instance{ID: "one-1"}
	for command, want := range map[string]error{"good": nil, "bad": broken} {
		action := &spec.ExecAction{Command: []string{command}}
		q := question(in, spec.Probe{Exec: action})
		if _, err := ask(p, q, patience); !errors.Is(err, want) {
			t.Errorf("%s: %v", command, err)
		}
		if err := p.Do(t.Context(), q.Entry, in, &spec.Hook{Exec: action}); !errors.Is(err, want) {
			t.Errorf("%s as a hook: %v", command, err)
		}
	}
	q := question(in, spec.Probe{Exec: &spec.ExecAction{Command: []string{"good"}}})
	_, err := ask(newProber(t), q, patience)
	fails(t, err, "cannot run good")
	_, err = ask(p, question(in, spec.Probe{}), patience)
	fails(t, err, errNoHandler.Error())
}
