//go:build unix

package bridge

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type sdkArgs struct {
	Text string `json:"text"`
	N    int    `json:"n,omitempty"`
}

// serveSDK serves with the Go SDK over standard input and output, in both eras or in
// one of them.
func serveSDK(kind string) {
	o := &mcp.ServerOptions{
		Instructions:       "be kind",
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	}
	switch kind {
	case "sdk-legacy":
		o.SupportedProtocolVersions = legacyVersions
	case "sdk-modern":
		o.SupportedProtocolVersions = []string{modernVersion}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: kind, Version: "7"}, o)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, a sdkArgs) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "progress"}, func(ctx context.Context, r *mcp.CallToolRequest, a sdkArgs) (*mcp.CallToolResult, any, error) {
		for i := range a.N {
			p := &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Message: a.Text}
			if err := r.Session.NotifyProgress(ctx, p); err != nil {
				return nil, nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "change"}, func(ctx context.Context, _ *mcp.CallToolRequest, a sdkArgs) (*mcp.CallToolResult, any, error) {
		s.AddTool(&mcp.Tool{Name: "added", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
		err := s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: a.Text})
		return &mcp.CallToolResult{}, nil, err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, a sdkArgs) (*mcp.CallToolResult, any, error) {
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: a.Text, RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}})
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(res.Action, res.Content["name"])}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "want"}, func(_ context.Context, r *mcp.CallToolRequest, a sdkArgs) (*mcp.CallToolResult, any, error) {
		if got, ok := r.Params.InputResponses["who"].(*mcp.ElicitResult); ok {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(got.Action, got.Content["name"], r.Params.RequestState)}}}, nil, nil
		}
		return &mcp.CallToolResult{RequestState: "state", InputRequests: mcp.InputRequestMap{"who": &mcp.ElicitParams{
			Message: a.Text, RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}},
		}}}, nil, nil
	})
	s.AddResource(&mcp.Resource{Name: "r", URI: "test://r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test://r", Text: "content"}}}, nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
