package probe

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// TestMain: playsPart runs what this binary is when a test starts it again.
func TestMain(m *testing.M) {
	if !playsPart() {
		goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
			atEnd()
			os.Exit(code)
		}))
	}
}

// atEnd removes what tests have shared.
var atEnd = func() {}

// patience bounds every wait of a test; none comes near it when all is well.
const patience = 20 * time.Second

// serve runs a server until the end of the test, with its open requests cut off.
func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// instance is one whose port http is that of a server.
func instance(t testing.TB, base string) *observe.Instance {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	ports, err := spec.ParsePortMap("http=" + u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return &observe.Instance{ID: "one-1", Ports: ports}
}

// question asks the instance with a probe.
func question(in *observe.Instance, p spec.Probe) observe.Question {
	return observe.Question{Entry: &spec.Entry{Hash: "abc"}, Instance: in, Probe: &p}
}

func newProber(t testing.TB) *Prober {
	t.Helper()
	p := New(Options{})
	t.Cleanup(p.Close)
	return p
}

// ask makes one attempt that may take as long as given.
func ask(p *Prober, q observe.Question, within time.Duration) (observe.Answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return p.Probe(ctx, q)
}

// mustAsk makes one attempt that has to succeed.
func mustAsk(t testing.TB, p *Prober, q observe.Question) observe.Answer {
	t.Helper()
	a, err := ask(p, q, patience)
	if err != nil {
		t.Fatalf("probe: %v", err)
	}
	return a
}

// fails checks that an attempt has failed in one line with all of these words.
func fails(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("the probe succeeded; want a failure with %q", words)
	}
	line := err.Error()
	if strings.Contains(line, "\n") || len(line) > 500 {
		t.Errorf("not one line of a bounded length: %q", line)
	}
	for _, w := range words {
		if !strings.Contains(line, w) {
			t.Errorf("%q does not say %q", line, w)
		}
	}
}

// endless writes a text again and again until the reader has gone.
func endless(w http.ResponseWriter, text string) {
	for {
		if _, err := w.Write([]byte(text)); err != nil {
			return
		}
	}
}

// hang begins an answer and goes on for as long as the reader is there.
func hang(w http.ResponseWriter, r *http.Request, begin string) {
	_, _ = w.Write([]byte(begin))
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}
