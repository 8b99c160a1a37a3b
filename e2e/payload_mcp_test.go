//go:build linux

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpPayload is an MCP server of the Go SDK: its arguments are how it is spoken to,
// stdio or http (on $PORT), and the eras that it speaks: legacy, modern or both.
const mcpPayload = "mcp-server"

// mcpServer says where such a server is written in a manifest.
func mcpServer(args ...string) string {
	command := fmt.Sprintf("command: [%q, %q", os.Args[0], mcpPayload)
	for _, a := range args {
		command += fmt.Sprintf(", %q", a)
	}
	return command + "]\n"
}

// echoInput is what its tool echo takes.
type echoInput struct {
	Text string `json:"text"`
	// Steps are how many notifications of progress come before the answer.
	Steps int `json:"steps,omitempty"`
	// Hold has it wait until the call is cancelled; ask then cancels its question.
	Hold bool `json:"hold,omitempty"`
}

func newMCPServer(eras string) *mcp.Server {
	said := make(chan string, 16)
	o := &mcp.ServerOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationServerRequest) {
		said <- r.Params.Message
	}}
	switch eras {
	case "legacy":
		o.SupportedProtocolVersions = []string{"2025-11-25", "2025-06-18"}
	case "modern":
		o.SupportedProtocolVersions = []string{"2026-07-28"}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "payload", Version: eras}, o)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(ctx context.Context, r *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
		for i := range in.Steps {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Message: in.Text,
			})
		}
		if in.Hold {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "pid"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(os.Getpid())}}}, nil, nil
	})
	addAsk(s, said)
	return s
}

func runMCPServer(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s := newMCPServer(args[1])
	if args[0] == "stdio" {
		_ = s.Run(ctx, &mcp.StdioTransport{})
		return 0
	}
	// The modern era knows no sessions, and the handler wants to be told.
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: args[1] == "modern"})
	srv := &http.Server{Addr: "127.0.0.1:" + os.Getenv("PORT"), Handler: h, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { srv.Close() })
	if err := srv.ListenAndServe(); err != http.ErrServerClosed {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
