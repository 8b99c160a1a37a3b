//go:build linux

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stdioClient is a client of the Go SDK that starts "connect" as its server.
type stdioClient struct {
	*mcp.ClientSession
	cmd    *exec.Cmd
	stderr *bytes.Buffer
}

// connect starts one that speaks this revision.
func (r *rig) connect(server, revision string) *stdioClient {
	r.t.Helper()
	c := &stdioClient{stderr: &bytes.Buffer{}}
	c.cmd = exec.Command(controllerBinary, append(append([]string{"connect"}, r.paths()...), server)...)
	c.cmd.Env, c.cmd.Stderr = r.env, c.stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "v1"}, nil)
	ctx, cancel := context.WithTimeout(r.t.Context(), soon)
	defer cancel()
	var err error
	if c.ClientSession, err = client.Connect(ctx, &mcp.CommandTransport{Command: c.cmd}, &mcp.ClientSessionOptions{ProtocolVersion: revision}); err != nil {
		r.t.Fatalf("cannot connect: %v\n%s", err, c.stderr)
	}
	r.t.Cleanup(func() {
		c.Close()
		if r.t.Failed() {
			r.t.Logf("stderr of connect:\n%s", c.stderr)
		}
	})
	return c
}

// echoes calls the tool echo.
func echoes(ctx context.Context, c *mcp.ClientSession, text string) error {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	res, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: echoInput{Text: text}})
	if err != nil {
		return err
	}
	if got := textOf(res); got != text {
		return fmt.Errorf("it echoes %q, want %q", got, text)
	}
	return nil
}

// textOf is the text of a result.
func textOf(res *mcp.CallToolResult) string {
	if len(res.Content) != 1 {
		return fmt.Sprintf("%d contents", len(res.Content))
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		return fmt.Sprintf("%T", res.Content[0])
	}
	return text.Text
}

// A client behind connect sees one server, in either era, whatever becomes of the one
// that the controller runs: replaced, moved to another port, suspended and resumed, and
// run by another controller.
func TestConnectLivesThroughReplacement(t *testing.T) {
	t.Parallel()
	for era, revision := range map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			server := func(port int, more string) {
				t.Helper()
				r.write("s.yaml", manifest("MCPServer", "s", mcpServer("http", era)+fmt.Sprintf("ports: [{port: %d}]\nmcp: {}\n%s", port, more)))
			}
			server(0, "")
			r.start()
			first, _ := r.available("mcp/s")
			c := r.connect("s", revision)
			if got := c.InitializeResult().ProtocolVersion; got != revision {
				t.Fatalf("they speak %s, want %s", got, revision)
			}
			works := func(when string) {
				t.Helper()
				if err := echoes(t.Context(), c.ClientSession, when); err != nil {
					t.Fatalf("%s: %v", when, err)
				}
			}
			works("at first")

			server(0, "env: [{name: EDITED, value: 'true'}]")
			r.replaced("mcp/s", first)
			works("after a replacement")

			port := unusedPort(t)
			server(port, "")
			r.until("mcp/s", "listens there", func(o object) bool {
				return o.condition("Ready").Status == "True" && len(o.Status.Ports) > 0 && o.Status.Ports[0].Port == port
			})
			works("on another port")

			if res := r.run("suspend", "mcp/s"); res.code != 0 {
				t.Fatal(res.stderr)
			}
			if err := echoes(t.Context(), c.ClientSession, ""); err == nil || !strings.Contains(err.Error(), "is suspended; resume it with") {
				t.Errorf("of a suspended server: %v", err)
			}
			if res := r.run("resume", "mcp/s"); res.code != 0 {
				t.Fatal(res.stderr)
			}
			works("resumed")

			r.stop()
			answered := make(chan error, 1)
			go func() { answered <- echoes(t.Context(), c.ClientSession, "while the controller was restarted") }()
			r.start()
			if err := <-answered; err != nil {
				t.Error(err)
			}
			if err := c.Close(); err != nil {
				t.Errorf("it did not end well: %v", err)
			}
		})
	}
}

// pipe runs connect with these lines on stdin.
func (r *rig) pipe(server string, lines ...string) result {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, controllerBinary, append(append([]string{"connect"}, r.paths()...), server)...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = r.env, strings.NewReader(strings.Join(lines, "\n")), &stdout, &stderr
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		r.t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// What is wrong is said on stderr and to the client, and nothing hangs.
func TestConnectSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	wrong := func(server, text string) {
		t.Helper()
		res := r.pipe(server, ping)
		if res.code != 0 || !strings.Contains(res.stderr, text) {
			t.Errorf("connect %s: exit code %d, stderr %q: want 0 and %q", server, res.code, res.stderr, text)
		}
		if !strings.Contains(res.stdout, `"id":1,"error":`) || !strings.Contains(res.stdout, text) {
			t.Errorf("connect %s: the client is told %q, want %q", server, res.stdout, text)
		}
	}
	wrong("clock", "start one with: proc-controller run")
	r.write("clock.yaml", clock(0))
	r.write("sleeper.yaml", strings.Replace(strings.Replace(clock(0), "name: clock", "name: sleeper", 1), "spec:", "spec:\n  suspend: true", 1))
	r.start()
	r.available("mcp/clock")
	wrong("clok", "no MCPServer named clok (did you mean clock?)")
	wrong("sleeper", "mcpserver/sleeper is suspended; resume it with: proc-controller resume mcpserver/sleeper")
	if res := r.pipe("clock", ping); res.code != 0 {
		t.Errorf("exit code %d: %s", res.code, res.stderr)
	}
	for _, bad := range [][]string{nil, {"a", "b"}, {"agent/clock"}, {"clock", "--timeout", "0s"}} {
		if res := r.run("connect", bad...); res.code != 2 {
			t.Errorf("connect %q: exit code %d: %s", bad, res.code, res.stderr)
		}
	}
}
