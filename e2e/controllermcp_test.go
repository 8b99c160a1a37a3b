//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// asAgent begins a session of an agent with "mcp", over stdio.
func (r *rig) asAgent(args ...string) *agentSession {
	r.t.Helper()
	cmd := exec.Command(controllerBinary, append(append([]string{"mcp"}, r.paths()...), args...)...)
	cmd.Env = r.env
	return newAgent(r.t, &mcp.CommandTransport{Command: cmd})
}

// agentSession is what an agent does with an MCP server.
type agentSession struct {
	t       testing.TB
	session *mcp.ClientSession
	ctx     context.Context
}

func newAgent(t testing.TB, transport mcp.Transport) *agentSession {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "v1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close(); cancel() })
	return &agentSession{t, session, ctx}
}

// call calls a tool; into takes the structured answer. The text is that of an
// error, where it failed.
func (a *agentSession) call(tool string, args map[string]any, into any) (failed string) {
	a.t.Helper()
	res, err := a.session.CallTool(a.ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error()
	}
	text := ""
	for _, c := range res.Content {
		if said, ok := c.(*mcp.TextContent); ok {
			text += said.Text
		}
	}
	if res.IsError {
		return text
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		a.t.Fatalf("%s: %v in %s", tool, err, text)
	}
	return ""
}

// does calls a tool that works.
func (a *agentSession) does(tool string, args map[string]any, into any) {
	a.t.Helper()
	if failed := a.call(tool, args, into); failed != "" {
		a.t.Fatalf("%s %v: %s", tool, args, failed)
	}
}

func (a *agentSession) tools() map[string]*mcp.Tool {
	a.t.Helper()
	list, err := a.session.ListTools(a.ctx, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	tools := map[string]*mcp.Tool{}
	for _, tool := range list.Tools {
		tools[tool.Name] = tool
	}
	return tools
}

// listedRow is a row of list_workloads.
type listedRow struct {
	Workload, Phase string
	Ready           bool
	PID             int
}

type waited struct {
	Met       bool
	Workloads []struct {
		Workload, Why string
		Met, Hopeless bool
	}
}

func TestAgentLooksAtTheController(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", manifest("Agent", "writer", "command: [sh, -c, 'echo line 1; echo line 2; echo line 3; exec sleep 1000']"))
	a := r.asAgent()
	for name, tool := range a.tools() {
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s does not say that it only reads", name)
		}
		if slices.Contains([]string{"restart", "suspend", "resume"}, name) {
			t.Errorf("%s is offered without --allow-changes", name)
		}
	}
	var list struct{ Workloads []listedRow }
	if failed := a.call("list_workloads", nil, &list); !strings.Contains(failed, "start one with: proc-controller run --manifests") {
		t.Errorf("no controller runs: %q", failed)
	}
	r.start() // the session goes on with it
	var w waited
	a.does("wait", map[string]any{"workloads": []string{"agent/writer"}}, &w)
	if !w.Met {
		t.Fatalf("it is not ready: %+v", w)
	}
	a.does("list_workloads", nil, &list)
	if len(list.Workloads) != 1 || list.Workloads[0].Workload != "agent/writer" || !list.Workloads[0].Ready || list.Workloads[0].PID == 0 {
		t.Errorf("listed: %+v", list)
	}
	var d struct {
		object
		Events []struct{ Type string }
	}
	a.does("describe_workload", map[string]any{"workload": "agent/writer"}, &d)
	if d.Status.PID != list.Workloads[0].PID || len(d.Events) == 0 || d.Events[0].Type != "Started" {
		t.Errorf("described: pid %d, events %+v", d.Status.PID, d.Events)
	}
	var e struct{ Events []struct{ Type, Key string } }
	a.does("events", map[string]any{"workload": "agent/writer", "since": "10m", "limit": 1}, &e)
	if len(e.Events) != 1 || e.Events[0].Key != "Agent/writer" {
		t.Errorf("events: %+v", e)
	}
	var l struct {
		Lines []struct{ Text, Time, Instance string }
	}
	eventually(t, soon, "it has written", func() error {
		a.does("logs", map[string]any{"workload": "agent/writer", "lines": 2}, &l)
		if len(l.Lines) != 2 || l.Lines[0].Text != "line 2" || l.Lines[1].Text != "line 3" || l.Lines[0].Instance == "" {
			return fmt.Errorf("it is told %+v", l)
		}
		return nil
	})
	for _, tt := range []struct {
		tool string
		args map[string]any
		says string
	}{
		{"describe_workload", map[string]any{"workload": "agent/writter"}, "did you mean writer?"},
		{"describe_workload", map[string]any{"workload": "writer"}, "write KIND/NAME"},
		{"describe_workload", nil, "workload"},
		{"list_workloads", map[string]any{"kind": "pod"}, "unknown kind"},
		{"list_workloads", map[string]any{"labels": "a b"}, "labelSelector"},
		{"events", map[string]any{"since": "yesterday"}, "write 30s, 10m"},
		{"wait", map[string]any{"workloads": []string{}}, "nothing to wait for"},
		{"wait", map[string]any{"workloads": []string{"agent/writer"}, "until": "happy"}, "write ready, gone"},
		{"restart", map[string]any{"workload": "agent/writer"}, "restart"},
	} {
		if failed := a.call(tt.tool, tt.args, new(any)); !strings.Contains(failed, tt.says) {
			t.Errorf("%s %v: %q, want %q", tt.tool, tt.args, failed, tt.says)
		}
	}
	a.does("wait", map[string]any{"workloads": []string{"agent/writer", "agent/none"}, "timeoutSeconds": 1}, &w)
	if w.Met || !w.Workloads[0].Met || !strings.Contains(w.Workloads[1].Why, "no manifest") {
		t.Errorf("waited for what is not there: %+v", w)
	}
	r.stop()
	r.start() // and with the next one
	a.does("list_workloads", nil, &list)
}

func TestAgentChangesWhatItMay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", agent("writer"))
	r.start()
	first := r.running("agent/writer")
	a := r.asAgent("--allow-changes")
	for _, name := range []string{"restart", "suspend", "resume"} {
		if tool := a.tools()[name]; tool == nil || tool.Annotations == nil || tool.Annotations.ReadOnlyHint {
			t.Errorf("%s: %+v", name, tool)
		}
	}
	var w waited
	a.does("restart", map[string]any{"workload": "agent/writer"}, &w)
	if !w.Met {
		t.Errorf("restarted: %+v", w)
	}
	second := r.replaced("agent/writer", first)
	var row listedRow
	a.does("suspend", map[string]any{"workload": "agent/writer"}, &row)
	gone(t, second.Status.PID)
	r.until("agent/writer", "is suspended", func(o object) bool { return o.Status.Phase == "Suspended" })
	a.does("resume", map[string]any{"workload": "agent/writer"}, &row)
	r.running("agent/writer")
	if failed := a.call("restart", map[string]any{"workload": "agent/writter"}, &w); !strings.Contains(failed, "did you mean writer?") {
		t.Errorf("restart of what is not there: %q", failed)
	}
}

// bearer shows a token with every request.
type bearer string

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(req)
}

func TestAgentOnAPort(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	token := filepath.Join(r.dir, "token")
	if res := r.run("mcp", "--listen", "127.0.0.1:0", "--allow-changes"); res.code != 2 || !strings.Contains(res.stderr, "--token-file") {
		t.Errorf("changes for everybody: %d %s", res.code, res.stderr)
	}
	cmd := exec.Command(controllerBinary, append(append([]string{"mcp"}, r.paths()...), "--listen", "127.0.0.1:0", "--allow-changes", "--token-file", token)...)
	said := r.inBackground(cmd)
	var url string
	eventually(t, soon, "it says where it is", func() error {
		_, after, found := strings.Cut(said.String(), "MCP at ")
		if !found {
			return fmt.Errorf("it says %q", said)
		}
		url = strings.TrimSpace(after)
		return nil
	})
	content, err := os.ReadFile(token)
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.TrimSpace(string(content))
	a := newAgent(t, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(secret)}})
	var list struct{ Workloads []listedRow }
	a.does("list_workloads", nil, &list)
	for _, tt := range []struct {
		token, host, origin string
		code                int
	}{{"", "", "", 401}, {"x" + secret, "", "", 401}, {secret, "evil.example", "", 403}, {secret, "", "http://evil.example", 403}} {
		if code, body := asks(t, url, tt.token, tt.host, tt.origin); code != tt.code {
			t.Errorf("%+v: %d %s", tt, code, body)
		}
	}
	if err := errors.Join(a.session.Close(), cmd.Process.Signal(os.Interrupt)); err != nil {
		t.Fatal(err)
	}
	eventually(t, soon, "it has ended", func() error {
		if p, there := lookup(cmd.Process.Pid); there {
			return fmt.Errorf("%v lives", p)
		}
		return nil
	})
}

// inBackground runs a command until the test ends, and gives what it says.
func (r *rig) inBackground(cmd *exec.Cmd) logFile {
	r.t.Helper()
	stderr, err := os.CreateTemp(r.dir, "aside")
	if err != nil {
		r.t.Fatal(err)
	}
	defer stderr.Close()
	cmd.Env, cmd.Stderr, cmd.Stdout = r.env, stderr, stderr
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	return logFile(stderr.Name())
}

// TestWorkloadFindsItsController runs "mcp" as a workload, as the example does: it
// asks the controller that it is run by, where that has its socket in its place.
func TestWorkloadFindsItsController(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	runtime := filepath.Join(r.dir, "run")
	r.mkdir(runtime, 0o700)
	r.env = append(r.env, "XDG_RUNTIME_DIR="+runtime)
	r.socket = filepath.Join(runtime, "proc-controller", r.owner, "api.sock")
	r.write("mcp.yaml", fmt.Sprintf(`apiVersion: proc-controller.dev/v1alpha1
kind: MCPServer
metadata: {name: controller}
spec:
  command: [%q, mcp, --listen, "127.0.0.1:$(PORT)"]
  ports: [{port: 0}]
  mcp: {}
`, controllerBinary))
	r.start()
	_, port := r.available("mcp/controller")
	a := newAgent(t, &mcp.StreamableClientTransport{Endpoint: fmt.Sprintf("http://127.0.0.1:%d/mcp", port)})
	var list struct{ Workloads []listedRow }
	a.does("list_workloads", nil, &list)
	if len(list.Workloads) != 1 || list.Workloads[0].Workload != "mcpserver/controller" {
		t.Errorf("listed: %+v", list)
	}
}

// The command line of the protocol's own inspector gets along with it.
func TestInspectorAsksTheController(t *testing.T) {
	t.Parallel()
	_, env := needsTools(t)
	r := newRig(t)
	r.write("a.yaml", agent("a"))
	r.start()
	r.running("agent/a")
	// The inspector takes flags for its own.
	server := filepath.Join(r.dir, "server")
	must(t, writeProgram(server, []byte("#!/bin/sh\nexec '"+controllerBinary+"' mcp '"+strings.Join(r.paths(), "' '")+"'\n")))
	ask := func(args ...string) string {
		out, err := tool(t, env, t.TempDir(), "mcp-inspector", append([]string{"--cli", server}, args...)...)
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return out
	}
	if said := ask("--method", "tools/list"); !strings.Contains(said, `"describe_workload"`) || strings.Contains(said, `"restart"`) {
		t.Errorf("tools: %s", said)
	}
	if said := ask("--method", "tools/call", "--tool-name", "list_workloads"); !strings.Contains(said, `"phase": "Running"`) && !strings.Contains(said, `phase\":\"Running`) {
		t.Errorf("workloads: %s", said)
	}
}
