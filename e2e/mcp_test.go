//go:build linux

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// speak initializes a session with the MCP server on the port and gives the
// names of its tools.
func speak(t *testing.T, port int) (tools []string) {
	t.Helper()
	eventually(t, soon, "the server speaks MCP", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "v1"}, nil)
		session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
			Endpoint:             fmt.Sprintf("http://127.0.0.1:%d/mcp", port),
			HTTPClient:           &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
			DisableStandaloneSSE: true,
			MaxRetries:           -1,
		}, nil)
		if err != nil {
			return err
		}
		defer session.Close()
		list, err := session.ListTools(ctx, nil)
		if err != nil {
			return err
		}
		tools = nil
		for _, tool := range list.Tools {
			tools = append(tools, tool.Name)
		}
		return nil
	})
	return tools
}

// available waits until the workload listens, and gives it and its port.
func (r *rig) available(key string) (o object, port int) {
	r.t.Helper()
	r.running(key)
	o = r.until(key, "is available", func(o object) bool {
		return o.condition("Available").Status == "True" && o.condition("Ready").Status == "True" && len(o.Status.Ports) > 0
	})
	return o, o.Status.Ports[0].Port
}

func TestServerOnTheGoSDK(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec := "command: [" + clockBinary + "]\nports: [{name: http, port: 0}]\n"
	r.write("clock.yaml", manifest("MCPServer", "clock", spec))
	r.start()
	first, port := r.available("mcp/clock")
	if got := speak(t, port); !slices.Contains(got, "time") {
		t.Errorf("tools = %q, want time among them", got)
	}

	r.write("clock.yaml", manifest("MCPServer", "clock", spec+"env: [{name: CLOCK_ZONE, value: UTC}]\n"))
	r.replaced("mcp/clock", first)
	second, again := r.available("mcp/clock")
	if again != port {
		t.Errorf("port %d after the edit, was %d", again, port)
	}
	speak(t, again)
	if lt := second.Status.LastTermination; lt == nil || lt.Reason != "Stopped" || lt.ExitCode != 0 {
		t.Errorf("last termination = %+v, want Stopped with exit code 0", lt)
	}

	r.remove("clock.yaml")
	nothingLeft(t, r.owner)
	portFree(t, port)
}

// npmCache is a cache in the build directory, filled once with what the tests
// run, so that npx needs no network afterwards.
var npmCache = sync.OnceValues(func() (string, error) {
	cache := filepath.Join(projectDir, "bin", "npm-cache")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npx", "-y", "-p", everythingPackage, "-p", memoryPackage, "-c", "true")
	cmd.Env = append(cleanEnvironment(), "HOME="+os.TempDir(), "npm_config_cache="+cache, "npm_config_prefer_offline=true")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot install what the tests run: %w\n%s", err, out)
	}
	return cache, nil
})

// The packages that tests run. npx keeps a directory for each set of packages.
const (
	everythingPackage = "@modelcontextprotocol/server-everything"
	memoryPackage     = "@modelcontextprotocol/server-memory"
)

// npxPatience is how long npx may take to start a server: it asks the registry, and on
// a busy machine that alone takes longer than anything else here.
const npxPatience = 3 * time.Minute

// needsNPM gives the environment in which npx finds what the tests run.
func needsNPM(t *testing.T) []string {
	t.Helper()
	if _, err := exec.LookPath("npx"); err != nil {
		t.Skip("npx is not installed: install the packages nodejs and npm")
	}
	cache, err := npmCache()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"npm_config_cache=" + cache, "npm_config_prefer_offline=true", "npm_config_update_notifier=false"}
}

// The example through npx: a chain of npx, a shell and the server.
func TestServerThroughNpx(t *testing.T) {
	t.Parallel()
	npm := needsNPM(t)
	r := newRig(t)
	r.env, r.patience = append(r.env, npm...), npxPatience
	example, err := os.ReadFile(filepath.Join(projectDir, "manifests", "npm", "everything.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	r.write("everything.yaml", string(example))
	r.start()
	first, port := r.available("mcp/everything")
	if got := speak(t, port); !slices.Contains(got, "echo") {
		t.Errorf("tools = %q, want echo among them", got)
	}
	verified := r.until("mcp/everything", "is verified", func(o object) bool { return o.condition("Verified").Status == "True" })
	if s := verified.Status.Server; s == nil || s.Name == "" || s.Version == "" || s.Tools != 13 || s.URL != clockURL(port) || s.Era != "Legacy" {
		t.Errorf("it says of itself %+v", s)
	}
	chain := marked(r.owner)
	if len(chain) < 3 {
		t.Errorf("the chain is %v, want three processes", chain)
	}

	r.write("everything.yaml", strings.Replace(string(example), "  ports:", "  env: [{name: EDITED, value: 'true'}]\n  ports:", 1))
	r.replaced("mcp/everything", first)
	_, again := r.available("mcp/everything")
	speak(t, again)
	for _, p := range marked(r.owner) {
		if !p.has("EDITED", "true") {
			t.Errorf("%v is left of the chain before the edit", p)
		}
	}

	r.remove("everything.yaml")
	nothingLeft(t, r.owner)
	portFree(t, port)
	portFree(t, again)
}

// A port that somebody else holds is named, with the holder, and waited for.
func TestPortHeldByAnother(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l, port := holdPort(t)
	r.write("a.yaml", manifest("MCPServer", "a", fmt.Sprintf(
		"command: [%s]\nenv: [{name: %s, value: listen}]\nports: [{port: %d}]", os.Args[0], payloadVariable, port)))
	r.start()
	o := r.until("mcp/a", "waits for the port", func(o object) bool { return o.Status.Reason == "PortHeld" })
	for _, want := range []string{fmt.Sprint(port), fmt.Sprint(os.Getpid())} {
		if !strings.Contains(o.Status.Message, want) {
			t.Errorf("message %q does not contain %q", o.Status.Message, want)
		}
	}
	if n := len(marked(r.owner)); n != 0 {
		t.Errorf("%d processes were started", n)
	}
	l.Close()
	r.available("mcp/a")
}
