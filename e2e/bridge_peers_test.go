//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bridged is a stdio server, and something to ask it.
type bridged struct {
	command string // of the manifest
	mcp     string // of the manifest, beside the transport
	tool    string
	args    string // JSON
	says    string // in the answer
}

// bridgedServers are servers that other people wrote, and one of the Go SDK in each
// era.
func bridgedServers(t *testing.T) map[string]bridged {
	t.Helper()
	dir, _ := needsTools(t)
	program := func(name string, args ...string) string {
		return fmt.Sprintf("command: [%q]\nargs: [%s]\n", filepath.Join(dir, "node_modules", ".bin", name), strings.Join(args, ", "))
	}
	files := t.TempDir()
	must(t, os.WriteFile(filepath.Join(files, "note"), []byte("from the file"), 0o644))
	graph := filepath.Join(files, "graph.json")
	must(t, os.WriteFile(graph, []byte(`{"type":"entity","name":"bridge","entityType":"thing","observations":["spans"]}`+"\n"), 0o644))
	memory := "env: [{name: MEMORY_FILE_PATH, value: " + graph + "}]\n"
	return map[string]bridged{
		"everything": {program("mcp-server-everything"), "", "echo", `{"message":"hello"}`, "hello"},
		"memory":     {program("mcp-server-memory") + memory, "", "read_graph", `{}`, "spans"},
		"filesystem": {program("mcp-server-filesystem", files), "sharing: PerSession", "read_text_file", `{"path":"` + files + `/note"}`, "from the file"},
		"go-legacy":  {mcpServer("stdio", "legacy"), "", "echo", `{"text":"hello"}`, "hello"},
		"go-both":    {mcpServer("stdio", "both"), "", "echo", `{"text":"hello"}`, "hello"},
		"go-modern":  {mcpServer("stdio", "modern"), "", "echo", `{"text":"hello"}`, "hello"},
	}
}

// typescriptClient is a client of the TypeScript SDK: two sessions, whose requests have
// the same ids, ask in turn and at once, and each has to get its own answers.
const typescriptClient = `
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const [how, tool, args, says] = process.argv.slice(2);
function transport() {
  const at = JSON.parse(how);
  return at.url ? new StreamableHTTPClientTransport(new URL(at.url)) : new StdioClientTransport(at);
}
async function session() {
  const client = new Client({ name: "ts", version: "1" });
  const way = transport();
  await client.connect(way);
  await client.ping();
  const { tools } = await client.listTools();
  if (!tools.some(t => t.name === tool)) throw new Error("no tool " + tool);
  const calls = [];
  for (let i = 0; i < 20; i++) calls.push(client.callTool({ name: tool, arguments: JSON.parse(args) }));
  for (const r of await Promise.all(calls)) {
    if (r.isError || !JSON.stringify(r).includes(says)) throw new Error("answer " + JSON.stringify(r));
  }
  if (way.terminateSession) await way.terminateSession();
  await client.close();
}
Promise.all([session(), session()]).then(() => console.log("good"), e => { console.error(e); process.exit(1); });
`

// Clients of others, and that of the Go SDK in both eras, speak with bridged servers of
// others: over HTTP, and over connect.
func TestBridgePeers(t *testing.T) {
	t.Parallel()
	dir, env := needsTools(t)
	script := filepath.Join(t.TempDir(), "client.cjs")
	must(t, os.WriteFile(script, []byte(typescriptClient), 0o644))
	env = append(env, "NODE_PATH="+filepath.Join(dir, "node_modules"))
	r := newRig(t)
	servers := bridgedServers(t)
	for name, s := range servers {
		r.write(name+".yaml", manifest("MCPServer", name, s.command+"mcp: {transport: stdio, "+s.mcp+"}\n"))
	}
	r.start()
	t.Run("servers", func(t *testing.T) {
		for name, s := range servers {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				_, port := r.available("mcp/" + name)
				url := clockURL(port)
				if !strings.HasPrefix(name, "go-") {
					inspect(t, env, url, s)
				}
				overHTTP, _ := json.Marshal(map[string]string{"url": url})
				stdio, _ := json.Marshal(map[string]any{"command": controllerBinary, "args": append(append([]string{"connect"}, r.paths()...), name)})
				ways := []string{string(overHTTP), string(stdio)}
				if name != "everything" && name != "go-modern" {
					ways = ways[:1] // connect does not look at who is at the other end
				}
				for _, how := range ways {
					if out, err := tool(t, env, r.dir, "node", script, how, s.tool, s.args, s.says); err != nil || !strings.Contains(out, "good") {
						t.Errorf("the TypeScript SDK with %s: %v\n%s", how, err, out)
					}
				}
				for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
					askBridged(t, url, revision, s)
				}
			})
		}
	})
}

// inspect has the inspector list the tools, and call one.
func inspect(t *testing.T, env []string, url string, s bridged) {
	t.Helper()
	var args map[string]any
	must(t, json.Unmarshal([]byte(s.args), &args))
	call := []string{"--cli", url, "--transport", "http", "--method", "tools/call", "--tool-name", s.tool}
	for k, v := range args {
		text, ok := v.(string)
		if !ok {
			list, _ := json.Marshal(v)
			text = string(list)
		}
		call = append(call, "--tool-arg", k+"="+text)
	}
	out, err := tool(t, env, t.TempDir(), "mcp-inspector", call...)
	if err != nil || !strings.Contains(out, s.says) {
		t.Errorf("the inspector: %v\n%s", err, out)
	}
}

// connectListening begins a session of the Go SDK that has the stream open on which a
// server speaks by itself.
func connectListening(ctx context.Context, url, revision string, o *mcp.ClientOptions) (*mcp.ClientSession, error) {
	return mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "v1"}, o).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
}

// askBridged is the client of the Go SDK.
func askBridged(t *testing.T, url, revision string, s bridged) {
	t.Helper()
	session, err := connectListening(t.Context(), url, revision, nil)
	if err != nil {
		t.Errorf("the Go SDK, %s: %v", revision, err)
		return
	}
	defer session.Close()
	if got := session.InitializeResult().ProtocolVersion; got != revision {
		t.Errorf("the Go SDK speaks %s, want %s", got, revision)
	}
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: s.tool, Arguments: json.RawMessage(s.args)})
	if err != nil {
		t.Errorf("the Go SDK, %s: %v", revision, err)
		return
	}
	if said, _ := json.Marshal(res); !strings.Contains(string(said), s.says) {
		t.Errorf("the Go SDK, %s: %s", revision, said)
	}
}
