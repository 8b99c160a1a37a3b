package door

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type addInput struct {
	A int `json:"a"`
}

// sdkServer is a server that asks back, tells of its progress, and can be cancelled.
func sdkServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	mcp.AddTool(s, &mcp.Tool{Name: "add"}, func(ctx context.Context, req *mcp.CallToolRequest, in addInput) (*mcp.CallToolResult, map[string]int, error) {
		if token := req.Params.GetProgressToken(); token != nil {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1})
		}
		return nil, map[string]int{"sum": in.A + 1}, nil
	})
	return s
}

// connectSDK is a client of the SDK behind a door.
func connectSDK(t *testing.T, endpoint func(context.Context) (Endpoint, error), o *mcp.ClientOptions, so *mcp.ClientSessionOptions) *mcp.ClientSession {
	t.Helper()
	in, toDoor := io.Pipe()
	fromDoor, out := io.Pipe()
	done := make(chan error, 1)
	ctx, end := context.WithCancel(t.Context())
	go func() {
		done <- Run(ctx, Options{Endpoint: endpoint, In: in, Out: out, Log: t.Logf})
		out.Close()
	}()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, o).Connect(t.Context(), &mcp.IOTransport{Reader: fromDoor, Writer: toDoor}, so)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		toDoor.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		end()
	})
	return session
}

// The client of the Go SDK, in both eras, with servers of each transport.
func TestSDKPeers(t *testing.T) {
	server := sdkServer()
	pick := func(*http.Request) *mcp.Server { return server }
	for name, tt := range map[string]struct {
		handler http.Handler
		sse     bool
		version string
	}{
		"legacy, streams":   {mcp.NewStreamableHTTPHandler(pick, nil), false, "2025-11-25"},
		"legacy, JSON":      {mcp.NewStreamableHTTPHandler(pick, &mcp.StreamableHTTPOptions{JSONResponse: true}), false, "2025-06-18"},
		"legacy, stateless": {mcp.NewStreamableHTTPHandler(pick, &mcp.StreamableHTTPOptions{Stateless: true}), false, "2025-11-25"},
		"modern":            {mcp.NewStreamableHTTPHandler(pick, &mcp.StreamableHTTPOptions{Stateless: true}), false, "2026-07-28"},
		"HTTP+SSE":          {mcp.NewSSEHandler(pick, nil), true, "2024-11-05"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(tt.handler)
			t.Cleanup(s.Close)
			progress := make(chan float64, 100)
			session := connectSDK(t, func(context.Context) (Endpoint, error) { return Endpoint{URL: s.URL, SSE: tt.sse}, nil },
				&mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Progress }},
				&mcp.ClientSessionOptions{ProtocolVersion: tt.version})
			if got := session.InitializeResult().ProtocolVersion; got != tt.version {
				t.Errorf("they speak %s, want %s", got, tt.version)
			}
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 1 {
				t.Fatalf("%v, %v", tools, err)
			}
			for i := range 20 {
				p := &mcp.CallToolParams{Name: "add", Arguments: addInput{i}}
				p.SetProgressToken(fmt.Sprint("t", i))
				res, err := session.CallTool(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprint(res.StructuredContent); got != fmt.Sprintf("map[sum:%d]", i+1) {
					t.Errorf("result %s of %d", got, i)
				}
			}
			if tt.handler != nil && !slices.Contains([]string{"legacy, JSON"}, name) {
				<-progress
			}
		})
	}
}
