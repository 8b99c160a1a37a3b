//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpConfig is the file that MCP_CONFIG names, as an MCP client reads it.
type mcpConfig struct {
	MCPServers map[string]struct {
		Type, URL string
		Headers   map[string]string
	}
}

func readMCPConfig(path string) (c mcpConfig, err error) {
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, &c)
	}
	return c, err
}

// askServers is an agent: until SIGTERM it calls the tool time of each server in
// its file again and again, and writes the URL of each that has answered.
func askServers() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ticker := time.NewTicker(50 * time.Millisecond)
	for {
		c, err := readMCPConfig(os.Getenv("MCP_CONFIG"))
		if err != nil {
			fmt.Println("cannot read:", err)
		}
		for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
			if url := c.MCPServers[name].URL; callTime(ctx, url) == nil {
				fmt.Printf("%s answers at %s\n", name, url)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return 0
		}
	}
}

func callTime(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "v1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		DisableStandaloneSSE: true, MaxRetries: -1,
	}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "time"})
	return err
}
