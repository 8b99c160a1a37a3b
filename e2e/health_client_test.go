//go:build linux

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// caller is an MCP client: four times a second it looks into the file that its
// agent was given, and keeps its session as long as that names the same URL.
type caller struct {
	path    string // of the file
	looked  time.Time
	session *mcp.ClientSession
	url     string

	mu       sync.Mutex
	answered map[string]int // calls, by URL
	failures []string
}

// call makes one.
func (c *caller) call(ctx context.Context) error {
	url := c.url
	if time.Since(c.looked) > 250*time.Millisecond {
		config, err := readMCPConfig(c.path)
		if err != nil {
			return err
		}
		url, c.looked = config.MCPServers["clock"].URL, time.Now()
	}
	if url != c.url {
		client := mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "v1"}, nil)
		session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
			Endpoint: url, DisableStandaloneSSE: true, MaxRetries: -1,
			HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		}, nil)
		if err != nil {
			return fmt.Errorf("cannot connect to %s: %w", url, err)
		}
		c.hangUp()
		c.session, c.url = session, url
	}
	if _, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: "time"}); err != nil {
		return fmt.Errorf("cannot call %s: %w", c.url, err)
	}
	return nil
}

func (c *caller) hangUp() {
	if c.session != nil {
		c.session.Close()
	}
}

// run calls every 10 ms until ctx ends.
func (c *caller) run(ctx context.Context) {
	defer c.hangUp()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for ctx.Err() == nil {
		one, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		err := c.call(one)
		cancel()
		c.mu.Lock()
		if err != nil {
			c.failures = append(c.failures, err.Error())
		} else {
			c.answered[c.url]++
		}
		c.mu.Unlock()
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// An agent that follows the file of its servers does not notice that one of them
// is replaced, twice: not one call of a tool fails.
func TestBlueGreenUnderAnAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	version := func(v string) {
		r.write("clock.yaml", manifest("MCPServer", "clock", fmt.Sprintf(
			"command: [%s]\nmcp: {}\nenv: [{name: VERSION, value: '%s'}]\nports: [{name: http}]\nstrategy: {type: BlueGreen}", clockBinary, v)))
	}
	version("1")
	r.write("reader.yaml", agent("reader", "mcpServers: [{name: clock}]"))
	r.start()
	o, port := r.available("mcp/clock")
	reader := r.running("agent/reader")
	c := &caller{path: reader.Status.MCPConfig, answered: map[string]int{}}
	if want := filepath.Join(r.state, "mcp", "reader.json"); c.path != want {
		t.Fatalf("the file is %s, want %s", c.path, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calling sync.WaitGroup
	calling.Go(func() { c.run(ctx) })
	has := func(port int) {
		t.Helper()
		eventually(t, soon, fmt.Sprintf("20 calls at port %d", port), func() error {
			c.mu.Lock()
			defer c.mu.Unlock()
			if n := c.answered[clockURL(port)]; n < 20 {
				return fmt.Errorf("%v, failures %q", c.answered, c.failures)
			}
			return nil
		})
	}
	has(port)
	for _, v := range []string{"2", "3"} {
		version(v)
		o = r.replaced("mcp/clock", o)
		wantEnvironment(t, o, "VERSION", v)
		_, now := r.available("mcp/clock")
		has(now)
	}
	cancel()
	calling.Wait()
	if len(c.failures) > 0 || len(c.answered) < 2 {
		t.Errorf("%d calls failed, the first with %q; answered: %v", len(c.failures), c.failures[:min(1, len(c.failures))], c.answered)
	}
	r.kept("agent/reader", reader)
}
