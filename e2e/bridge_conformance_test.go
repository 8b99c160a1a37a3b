//go:build linux

package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Why a scenario fails. A scenario that fails without being listed here fails the
// test, and so does one that passes although it is listed.
const (
	// One process answers all clients: no client is asked anything, because it could
	// not be told whose question it is.
	causeShared = "sharing: Shared offers the server no capability of a client"
	// A server that is spoken to in the legacy era asks by requests, and nothing makes
	// the results of the modern era of those that want an answer.
	causeLegacy = "the server is spoken to in the legacy era (protocol: Auto)"
	causeModern = "the tools that it calls ask by requests, which a server cannot send in the modern era (others of the same server give results that ask, see the suite of that era)"
	causeTasks  = "an extension that the server does not have"
)

// conformanceFailures are the scenarios that fail, by cause.
type conformanceFailures map[string][]string

var (
	asksBack = []string{"tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums"}
	asksIn   = []string{
		"input-required-result-basic-elicitation", "input-required-result-basic-sampling", "input-required-result-basic-list-roots",
		"input-required-result-request-state", "input-required-result-multiple-input-requests", "input-required-result-multi-round",
		"input-required-result-non-tool-request", "input-required-result-result-type", "input-required-result-tampered-state",
		"input-required-result-capability-check",
	}
	tasks = []string{
		"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
		"tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error", "tasks-mrtr-composition",
	}
)

// The official conformance suite against the server of the Go SDK that is made for it,
// behind a bridge: shared and not, spoken to in either era, by clients of both.
func TestBridgeConformance(t *testing.T) {
	t.Parallel()
	_, env := needsTools(t)
	server := filepath.Join(t.TempDir(), "everything-server")
	build := exec.Command("go", "build", "-o", server, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
	build.Dir = projectDir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the server: %v\n%s", err, out)
	}
	const legacy, modern = "--spec-version=2025-11-25", "--requirements=2026-07-28"
	for name, tt := range map[string]struct {
		mcp   string
		suite string
		fails conformanceFailures
	}{
		"shared, legacy":        {"", legacy, conformanceFailures{causeShared: asksBack}},
		"shared, modern":        {"", modern, conformanceFailures{causeLegacy: asksIn, causeTasks: tasks}},
		"per session, legacy":   {"sharing: PerSession", legacy, nil},
		"modern server, legacy": {"protocol: Modern", legacy, conformanceFailures{causeModern: asksBack}},
		"modern server, modern": {"protocol: Modern", modern, conformanceFailures{causeTasks: tasks}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			more := "transport: stdio"
			if tt.mcp != "" {
				more += ", " + tt.mcp
			}
			r.write("s.yaml", manifest("MCPServer", "s", fmt.Sprintf("command: [%s]\nmcp: {%s}", server, more)))
			r.start()
			_, port := r.available("mcp/s")
			conform(t, env, clockURL(port), tt.suite, tt.fails)
		})
	}
}

// conform runs the suite and compares what fails with the list, in both directions. The
// suite's own comparison leaves out what a revision does not require.
func conform(t *testing.T, env []string, url, suite string, fails conformanceFailures) {
	t.Helper()
	out, _ := tool(t, env, t.TempDir(), "conformance", "server", "--url", url, suite, "--output-dir", "results")
	_, summary, _ := strings.Cut(out, "=== SUMMARY ===")
	summary, _, ok := strings.Cut(summary, "\nTotal: ")
	if !ok {
		t.Fatalf("the suite did not come to its end:\n%s", out)
	}
	causes := map[string]string{}
	for cause, scenarios := range fails {
		for _, s := range scenarios {
			causes[s] = cause
		}
	}
	seen := 0
	for line := range strings.Lines(summary) {
		mark, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, counts, found := strings.Cut(rest, ":")
		if !found {
			continue
		}
		seen++
		cause, listed := causes[name]
		switch {
		case mark == "✗" && !listed:
			t.Errorf("%s fails:%s", name, counts)
		case mark == "✓" && listed:
			t.Errorf("%s passes, although: %s", name, cause)
		}
		delete(causes, name)
	}
	if seen < 25 || len(causes) > 0 {
		t.Errorf("%d scenarios were run, and not %v", seen, causes)
	}
}
