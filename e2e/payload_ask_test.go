//go:build linux

package e2e

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addAsk gives a server the tool ask, which asks its client back and answers with
// what that says: what has come of progress first, then the answer. A question that
// is held is taken back once there was progress.
func addAsk(s *mcp.Server, said <-chan string) {
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
		ctx, takeBack := context.WithCancel(ctx)
		defer takeBack()
		progress := make(chan string, 1)
		go func() { progress <- heard(ctx, said, in, takeBack) }()
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{
			Meta: mcp.Meta{"progressToken": "same"}, Message: in.Text,
			RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"answer": map[string]any{"type": "string"}}},
		})
		text := <-progress
		switch {
		case in.Hold && err != nil && ctx.Err() != nil:
			text += "taken back"
		case err != nil:
			return nil, nil, err
		default:
			text += fmt.Sprint(res.Content["answer"])
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
}

// heard waits for the progress of a question, and takes a held one back after it.
func heard(ctx context.Context, said <-chan string, in echoInput, takeBack func()) string {
	var all strings.Builder
	for range in.Steps {
		select {
		case text := <-said:
			all.WriteString(text + ", ")
		case <-ctx.Done():
			return "no progress, "
		}
	}
	if in.Hold {
		takeBack()
	}
	return all.String()
}
