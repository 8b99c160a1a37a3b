package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// noon is a fixed time: the tests say what time it is.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// connect gives a client session with a server in memory.
func connect(t *testing.T) *mcp.ClientSession {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	server, err := newServer(func() time.Time { return noon }).Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "v1"}, nil).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Wait() })
	return client
}

func TestTools(t *testing.T) {
	t.Setenv("CLOCK_ZONE", "")
	c := connect(t)
	tests := []struct {
		tool string
		args map[string]any
		want string
	}{
		{"time", nil, `{"time":"2026-06-01T12:00:00Z","zone":"UTC"}`},
		{"time", map[string]any{"zone": "UTC"}, `{"time":"2026-06-01T12:00:00Z","zone":"UTC"}`},
		{"echo", map[string]any{"text": "hello"}, "hello"},
		{"echo", map[string]any{"text": ""}, ""},
	}
	for _, tt := range tests {
		got := call(t, c, tt.tool, tt.args)
		if got.IsError || text(got) != tt.want {
			t.Errorf("%s(%v) = %q (error: %v), want %q", tt.tool, tt.args, text(got), got.IsError, tt.want)
		}
	}
}

func TestUnknownZoneIsAnError(t *testing.T) {
	got := call(t, connect(t), "time", map[string]any{"zone": "Mars/Olympus"})
	if !got.IsError || !strings.Contains(text(got), "Mars/Olympus") {
		t.Errorf("got %q (error: %v), want an error that names the zone", text(got), got.IsError)
	}
}

func TestListsItsTools(t *testing.T) {
	res, err := connect(t).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range res.Tools {
		names = append(names, tool.Name)
	}
	if d := cmp.Diff([]string{"echo", "time"}, names); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
}

func TestServeNeedsAPort(t *testing.T) {
	for _, port := range []string{"", "notaport"} {
		if err := serve(t.Context(), port); err == nil {
			t.Errorf("serve(%q) = nil, want an error", port)
		}
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := serve(ctx, "0"); err != nil {
		t.Errorf("serve = %v, want nil after a stop", err)
	}
}

// call calls a tool. A tool's own error is a result, not a Go error.
func call(t *testing.T, c *mcp.ClientSession, tool string, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// text gives the text of a result's first content.
func text(r *mcp.CallToolResult) string {
	if len(r.Content) == 0 {
		return ""
	}
	c, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		return ""
	}
	return c.Text
}
