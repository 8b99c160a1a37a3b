//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stdioPayload as the first argument makes this test binary an MCP server over
// standard input and output. Files in the directory of the second argument say what
// ails it:
//
//	broken     it ends at once with exit code 7
//	noisy      it writes a line to stdout that is no message
//	stays      it does not end when its input does
//	deaf       it does not end at SIGTERM either
//
// It adds to the file "ended" a line for what told it to end.
const stdioPayload = "e2e-stdio"

type stdioServer struct {
	dir   string
	calls atomic.Int64
}

func stdio(args []string) int {
	s := &stdioServer{dir: args[0]}
	if s.ails("broken") {
		fmt.Fprintln(os.Stderr, "not today")
		return 7
	}
	if s.ails("noisy") {
		fmt.Println("hello, this is no message")
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	go func() {
		for range told {
			s.note("SIGTERM")
			if !s.ails("deaf") {
				os.Exit(0)
			}
		}
	}()
	server := mcp.NewServer(&mcp.Implementation{Name: "counter", Version: "2.1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "count"}, s.count)
	mcp.AddTool(server, &mcp.Tool{Name: "crash"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		os.Exit(3)
		return nil, nil, nil
	})
	_ = server.Run(context.Background(), &mcp.StdioTransport{})
	s.note("end of input")
	if s.ails("stays") {
		select {}
	}
	return 0
}

// count says which process this is, and how often it was asked.
func (s *stdioServer) count(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
	text := strconv.Itoa(os.Getpid()) + " " + strconv.FormatInt(s.calls.Add(1), 10)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

func (s *stdioServer) ails(what string) bool {
	_, err := os.Stat(filepath.Join(s.dir, what))
	return err == nil
}

func (s *stdioServer) note(line string) {
	f, err := os.OpenFile(filepath.Join(s.dir, "ended"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}
