//go:build unix

package bridge

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/proc-controller/proc-controller/spec"
)

// sdkClient connects a client of the Go SDK in a revision.
func (g *rig) sdkClient(version string, o *mcp.ClientOptions) *mcp.ClientSession {
	g.t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "peer", Version: "1"}, o)
	ctx, cancel := context.WithTimeout(g.t.Context(), soon)
	defer cancel()
	s, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: g.url, HTTPClient: g.http}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		g.t.Fatalf("connect %s: %v", version, err)
	}
	g.t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestEras: clients of the Go SDK of either era work with its servers of either era.
func TestEras(t *testing.T) {
	for _, server := range []string{"sdk", "sdk-legacy", "sdk-modern"} {
		for _, version := range []string{modernVersion, latestLegacy, "2025-06-18", "2025-03-26", "2024-11-05"} {
			t.Run(server+"/"+version, func(t *testing.T) {
				t.Parallel()
				g := start(t, server, func(o *Options, _ *limits) {
					if server == "sdk-modern" {
						o.Protocol = spec.ProtocolModern
					}
				})
				testEra(t, g, version)
			})
		}
	}
}

func testEra(t *testing.T, g *rig, version string) {
	progress := make(chan string, 10)
	changed := make(chan string, 10)
	s := g.sdkClient(version, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			progress <- fmt.Sprintf("%v %v", r.Params.ProgressToken, r.Params.Message)
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- "tools" },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { changed <- r.Params.URI },
	})
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	got := s.InitializeResult()
	if got.ProtocolVersion != version || got.ServerInfo == nil || got.ServerInfo.Version != "7" || got.Instructions != "be kind" {
		t.Errorf("initialize: %+v", got)
	}
	tools, err := s.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) != 5 {
		t.Fatalf("tools: %+v %v", tools, err)
	}
	text, err := callSDK(ctx, s, "echo", "hällo", 0, nil)
	if diff := cmp.Diff("hällo", text); err != nil || diff != "" {
		t.Errorf("echo: %v %s", err, diff)
	}
	if text, err = callSDK(ctx, s, "progress", "p", 3, "tok"); text != "p" || err != nil {
		t.Errorf("progress: %q %v", text, err)
	}
	for range 3 {
		select {
		case p := <-progress:
			if p != "tok p" {
				t.Errorf("progress %q", p)
			}
		case <-ctx.Done():
			t.Fatal("no progress came")
		}
	}
	if err := s.Subscribe(ctx, &mcp.SubscribeParams{URI: "test://r"}); err != nil {
		t.Fatalf("subscribe: %v", err)
	}
	testChanges(ctx, t, s, changed)
	r, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://r"})
	if err != nil || len(r.Contents) != 1 || r.Contents[0].Text != "content" {
		t.Errorf("read: %+v %v", r, err)
	}
	if _, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://none"}); err == nil {
		t.Error("a resource that is not there can be read")
	}
}

// testChanges changes the list of tools and a resource until both are heard of: the
// streams for them are opened in the background.
func testChanges(ctx context.Context, t *testing.T, s *mcp.ClientSession, changed <-chan string) {
	t.Helper()
	heard := map[string]bool{}
	eventually(t, func() string {
		if _, err := callSDK(ctx, s, "change", "test://r", 0, nil); err != nil {
			return err.Error()
		}
		for {
			select {
			case what := <-changed:
				heard[what] = true
				continue
			default:
			}
			break
		}
		if !heard["tools"] || !heard["test://r"] {
			return fmt.Sprintf("heard %v", heard)
		}
		return ""
	})
}

func callSDK(ctx context.Context, s *mcp.ClientSession, tool, text string, n int, token any) (string, error) {
	p := &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"text": text, "n": n}}
	if token != nil {
		p.SetProgressToken(token)
	}
	res, err := s.CallTool(ctx, p)
	if err != nil {
		return "", err
	}
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			return t.Text, nil
		}
	}
	return "", nil
}

// TestInput: a modern server gets what it wants of the user, from a modern client
// through the server that all share, and from a legacy one that has a server of its own.
func TestInput(t *testing.T) {
	tests := []struct {
		version string
		sharing spec.Sharing
	}{{modernVersion, spec.SharingShared}, {latestLegacy, spec.SharingPerSession}}
	for _, tt := range tests {
		t.Run(tt.version, func(t *testing.T) {
			g := start(t, "sdk", func(o *Options, _ *limits) { o.Protocol, o.Sharing = spec.ProtocolModern, tt.sharing })
			s := g.sdkClient(tt.version, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": r.Params.Message}}, nil
				},
			})
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			if text, err := callSDK(ctx, s, "want", "ann", 0, nil); text != "acceptannstate" {
				t.Errorf("%q %v", text, err)
			}
		})
	}
}

// TestModernServerDies: what clients of either era listen to is set up anew at a modern
// server, too.
func TestModernServerDies(t *testing.T) {
	g := start(t, "sdk", func(o *Options, _ *limits) { o.Protocol = spec.ProtocolModern })
	c := g.client()
	l := c.get()
	c.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://r"}}`)
	changed := make(chan string, 100)
	s := g.sdkClient(modernVersion, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- "tools" },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { changed <- r.Params.URI },
	})
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if err := s.Subscribe(ctx, &mcp.SubscribeParams{URI: "test://r"}); err != nil {
		t.Fatal(err)
	}
	testChanges(ctx, t, s, changed)
	pid := g.report().PID
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		r := g.report()
		if r.PID == pid {
			return "it is still the same process"
		}
		return r.Problem
	})
	for len(changed) > 0 {
		<-changed
	}
	for len(l.events) > 0 {
		<-l.events
	}
	testChanges(ctx, t, s, changed)
	for heard := ""; !strings.Contains(heard, "test://r"); {
		heard = string(l.next(t).Data)
	}
}
