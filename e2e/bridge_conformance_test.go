//go:build linux

package e2e

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	causeTasks  = "an extension that the server does not have"
	// The suite has it as pending.
	causeParams = "the bridge does not know the schemas of tools, and does not compare the Mcp-Param headers"
)

// conformanceFailures are the scenarios that fail, by cause.
type conformanceFailures map[string][]string

var (
	asksBack = []string{"tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums"}
	asksIn   = []string{
		"input-required-result-basic-elicitation", "input-required-result-basic-sampling", "input-required-result-basic-list-roots",
		"input-required-result-request-state", "input-required-result-multiple-input-requests", "input-required-result-multi-round",
		"input-required-result-missing-input-response", "input-required-result-non-tool-request", "input-required-result-result-type", "input-required-result-tampered-state",
		"input-required-result-capability-check",
	}
	tasks = []string{
		"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
		"tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error", "tasks-mrtr-composition",
	}
	mirrored = []string{"http-custom-header-server-validation"}
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
		"shared, modern":        {"", modern, conformanceFailures{causeLegacy: asksIn, causeTasks: tasks, causeParams: mirrored}},
		"per session, legacy":   {"sharing: PerSession", legacy, nil},
		"modern server, modern": {"protocol: Modern", modern, conformanceFailures{causeTasks: tasks, causeParams: mirrored}},
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

// conform runs the suite, which compares what fails with the list.
func conform(t *testing.T, env []string, url, suite string, fails conformanceFailures) {
	t.Helper()
	dir := t.TempDir()
	list := "server:\n"
	for _, cause := range slices.Sorted(maps.Keys(fails)) {
		list += "  # " + cause + "\n"
		for _, scenario := range fails[cause] {
			list += "  - " + scenario + "\n"
		}
	}
	if len(fails) == 0 {
		list = "server: []\n"
	}
	must(t, os.WriteFile(filepath.Join(dir, "failures.yaml"), []byte(list), 0o644))
	out, err := tool(t, env, dir, "conformance", "server", "--url", url, suite, "--expected-failures", "failures.yaml", "--output-dir", "results")
	_, summary, ok := strings.Cut(out, "\nTotal: ")
	if err != nil || !ok {
		t.Errorf("%v\n%s", err, summary)
	}
	if !ok {
		t.Logf("%s", out)
	}
}
