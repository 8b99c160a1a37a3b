package probe

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

func overStdio() spec.Probe {
	return spec.Probe{MCP: &spec.MCP{Transport: spec.TransportStdio, Port: "http", Path: "/mcp"}}
}

// reports answers as a bridge, and refuses everything else.
func reports(t *testing.T, status int, r *observe.BridgeReport) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodGet || req.URL.Path != observe.BridgePage || req.URL.Query().Get("timeout") == "" {
			t.Errorf("asked: %s %s", req.Method, req.URL)
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(r)
	}
}

func TestABridgeTellsOfItsServer(t *testing.T) {
	t.Parallel()
	report := &observe.BridgeReport{
		Server: &spec.ServerInfo{Name: "memory", Version: "1", ProtocolVersion: legacyVersion, Era: spec.EraLegacy, Tools: 9},
		Era:    spec.EraLegacy, PID: 4711, Restarts: 2, Findings: []string{"writes to stdout"},
	}
	server := serve(t, reports(t, http.StatusOK, report))
	in := instance(t, server.URL)
	a := mustAsk(t, newProber(t), question(in, overStdio()))
	if a.Bridge == nil || a.Bridge.Restarts != 2 || a.Server != nil {
		t.Errorf("the answer is %+v", a)
	}
	a = mustAsk(t, newProber(t), verifying(question(in, overStdio())))
	want := *report.Server
	want.URL = server.URL + "/mcp"
	if a.Server == nil || *a.Server != want {
		t.Errorf("the server is %+v, want %+v", a.Server, want)
	}
}

func TestABridgeWhoseServerIsNotWell(t *testing.T) {
	t.Parallel()
	next := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	report := &observe.BridgeReport{Problem: "it ended with exit code 3", NextStart: next, Restarts: 4}
	in := instance(t, serve(t, reports(t, http.StatusServiceUnavailable, report)).URL)
	a, err := ask(newProber(t), question(in, overStdio()), patience)
	fails(t, err, "it ended with exit code 3")
	if a.Bridge == nil || !a.Bridge.NextStart.Equal(next) || a.Bridge.Restarts != 4 {
		t.Errorf("the report is %+v", a.Bridge)
	}
}

func TestBridgeBadAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		says    string
	}{
		"no report":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }, "no report of a bridge"},
		"not well":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503); _, _ = w.Write([]byte("{}")) }, "not well"},
		"another page": {http.NotFound, "404 Not Found"},
		"a long problem": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(503)
			_ = json.NewEncoder(w).Encode(observe.BridgeReport{Problem: strings.Repeat("x\x1b", 400)})
		}, "xxx"},
		"has not said": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }, "has not said"},
	} {
		in := instance(t, serve(t, tc.handler).URL)
		_, err := ask(newProber(t), verifying(question(in, overStdio())), patience)
		if fails(t, err, tc.says); err != nil && (len(err.Error()) > 400 || strings.Contains(err.Error(), "\x1b")) {
			t.Errorf("%s: %q", name, err)
		}
	}
}
