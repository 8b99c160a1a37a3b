package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// fixedView is a Viewer that always sees the same.
type fixedView struct {
	view controller.View
	err  error
}

func (f *fixedView) View(context.Context) (controller.View, error) { return f.view, f.err }

func sampleView() controller.View {
	object := &spec.Object{
		APIVersion: spec.APIVersion,
		Kind:       spec.KindMCPServer,
		Metadata:   spec.Metadata{Name: "files", Labels: map[string]string{"team": "dev"}},
		Spec:       spec.Spec{Command: []string{"server", "<&>"}, InheritEnv: []string{"*"}, RestartPolicy: spec.RestartAlways},
	}
	stray := &observe.Process{
		Ident: observe.Ident{PID: 99, Start: 7}, Command: "stray", Verdict: observe.NotOurs,
		Markers: spec.Markers{Owner: "other-1"}, Key: spec.Key{Kind: spec.KindAgent, Name: "a"},
	}
	return controller.View{
		Owner: "dev-1", PID: 4711, Ready: true,
		Workloads: []controller.Workload{
			{Key: spec.Key{Kind: spec.KindAgent, Name: "gone"}, Status: spec.Status{Phase: spec.PhaseStopping}},
			{
				Object: object, Key: object.Key(),
				Status: spec.Status{Phase: spec.PhaseRunning, PID: 12, Instances: []spec.InstanceStatus{{Instance: "k7-1", PID: 12, Ready: true}}},
				File:   "/m/files.yaml", Line: 3,
			},
		},
		Notices: []spec.Finding{{File: "/m/x", Reason: spec.ReasonSkipped, Message: "is a directory"}},
		Others:  []*observe.Process{stray},
	}
}

// socketPath gives a path that is short enough on every system.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "api")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "sub", "api.sock")
}

// serve runs a server until the test ends.
func serve(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { s.Run(ctx) })
	t.Cleanup(func() { cancel(); done.Wait() })
	return s
}

// ask makes one request as any HTTP client would.
func ask(t *testing.T, path, method, url string) (int, []byte) {
	t.Helper()
	c := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		},
	}}
	req, err := http.NewRequest(method, "http://x"+url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

func TestClientReadsWhatTheViewSays(t *testing.T) {
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}}})
	c := NewClient(path)

	got, err := c.Workloads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	view := sampleView()
	want := []Object{objectOf(&view.Workloads[0]), objectOf(&view.Workloads[1])}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("workloads (-want +got):\n%s", d)
	}
	if got[0].Spec != nil || got[1].Status.Source.String() != "/m/files.yaml:3" {
		t.Errorf("spec of a workload without manifest: %v, source: %v", got[0].Spec, got[1].Status.Source)
	}

	info, err := c.Controller(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Owner != "dev-1" || info.PID != 4711 || !info.Ready || len(info.Unattributed) != 0 {
		t.Errorf("controller: %+v", info)
	}
	if len(info.Notices) != 1 || info.Notices[0].String() != "/m/x: is a directory" {
		t.Errorf("notices: %v", info.Notices)
	}
	if len(info.Others) != 1 || info.Others[0].Key != "Agent/a" || info.Others[0].Owner != "other-1" {
		t.Errorf("others: %+v", info.Others)
	}
}

func TestPaths(t *testing.T) {
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}}})
	tests := []struct {
		method, url string
		code        int
		has         string
	}{
		{"GET", "/healthz", 200, "ok\n"},
		{"GET", Root + "/mcpservers", 200, `"kind":"MCPServerList"`},
		{"GET", Root + "/agents", 200, `"name":"gone"`},
		{"GET", Root + "/mcpservers/files", 200, `"command":["server","<&>"]`},
		{"GET", Root + "/mcpservers/fils", 404, `"reason":"NotFound"`},
		{"GET", Root + "/agents/files", 404, `no Agent named files`},
		{"GET", Root + "/pods", 404, `nothing is served at`},
		{"GET", "/", 404, `the API is below`},
		{"POST", Root + "/workloads", 405, `"reason":"MethodNotAllowed"`},
		{"DELETE", Root + "/mcpservers/files", 405, `change the manifests instead`},
	}
	for _, tt := range tests {
		code, body := ask(t, path, tt.method, tt.url)
		if code != tt.code || !strings.Contains(string(body), tt.has) {
			t.Errorf("%s %s: %d %s; want %d with %q", tt.method, tt.url, code, body, tt.code, tt.has)
		}
		if code >= 400 {
			var f Failure
			if err := json.Unmarshal(body, &f); err != nil || f.Kind != "Status" || f.Code != code || f.Status != "Failure" {
				t.Errorf("%s %s: not a Status object: %s", tt.method, tt.url, body)
			}
		}
	}
}

func TestListsHoldOneKindAndAreValidJSON(t *testing.T) {
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}}})
	for url, names := range map[string][]string{
		"/workloads":  {"gone", "files"},
		"/agents":     {"gone"},
		"/mcpservers": {"files"},
	} {
		_, body := ask(t, path, "GET", Root+url)
		var l List
		if err := json.NewDecoder(bytes.NewReader(body)).Decode(&l); err != nil {
			t.Fatalf("%s: %v\n%s", url, err, body)
		}
		var got []string
		for _, o := range l.Items {
			got = append(got, o.Metadata.Name)
		}
		if d := cmp.Diff(names, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", url, d)
		}
	}
}

func TestNoItemsIsAnEmptyList(t *testing.T) {
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{}}})
	_, body := ask(t, path, "GET", Root+"/workloads")
	if !strings.Contains(string(body), `"items":[]`) {
		t.Errorf("got %s", body)
	}
	if code, _ := ask(t, path, "GET", "/healthz"); code != http.StatusServiceUnavailable {
		t.Errorf("healthz of a controller that is not ready: %d", code)
	}
}

func TestLoopThatDoesNotAnswer(t *testing.T) {
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{err: errors.New("it has ended")}}})
	_, err := NewClient(path).Workloads(t.Context())
	var f *Failure
	if !errors.As(err, &f) || f.Code != 503 || !strings.Contains(f.Message, "it has ended") {
		t.Errorf("got %v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	path := socketPath(t)
	_, err := NewClient(path).Workloads(t.Context())
	if !errors.Is(err, ErrNotRunning) || !strings.Contains(err.Error(), path) {
		t.Errorf("no socket: %v", err)
	}
	s, err := Listen(Options{Path: path, Services: Services{Viewer: &fixedView{}}})
	if err != nil {
		t.Fatal(err)
	}
	s.sock.Listener.Close() // as after a crash: the file stays
	if _, err := NewClient(path).Workloads(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("stale socket: %v", err)
	}
}

// TestManyAtOnce holds all slots with silent peers and sees a client wait, and
// be served when one of them leaves.
func TestManyAtOnce(t *testing.T) {
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}}})
	var idle []net.Conn
	for range maxConns {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		idle = append(idle, c)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := NewClient(path).Workloads(context.Background())
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("served beyond %d connections (%v)", maxConns, err)
	case <-time.After(50 * time.Millisecond):
	}
	idle[0].Close()
	select {
	case err := <-answered:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("not served after a peer left")
	}
}

// TestProspect holds the names that others rely on, and the answers for what the
// controller does not know.
func TestProspect(t *testing.T) {
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: controller.View{Owner: "dev-1"}}}})
	code, body := ask(t, path, http.MethodGet, Root+"/processes/99?instance=k7-1")
	var got map[string]any
	if err := json.Unmarshal(body, &got); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s: %v", code, body, err)
	}
	want := map[string]any{"apiVersion": spec.APIVersion, "kind": "Prospect", "plan": map[string]any{
		"fate": "Untouched", "reason": "NotManaged", "message": "no marker and no witness leads to this controller",
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, bad := range []string{"x", "0", "-7", "99999999999999999999"} {
		if code, body := ask(t, path, http.MethodGet, Root+"/processes/"+bad); code != http.StatusNotFound {
			t.Errorf("%s: %d %s", bad, code, body)
		}
	}
	if p, err := NewClient(path).Prospect(t.Context(), 99, ""); err != nil || p.Process != nil || p.Plan.Fate != controller.FateUntouched {
		t.Errorf("client: %+v, %v", p, err)
	}
}
