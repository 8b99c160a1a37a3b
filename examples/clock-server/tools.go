package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// timeInput is what the tool "time" is asked.
type timeInput struct {
	Zone string `json:"zone,omitempty" jsonschema:"IANA time zone such as Europe/Berlin; empty means CLOCK_ZONE, then UTC"`
}

// timeOutput is what it answers.
type timeOutput struct {
	Time string `json:"time" jsonschema:"the time, in RFC 3339 form"`
	Zone string `json:"zone" jsonschema:"the zone that it is told in"`
}

// echoInput is what the tool "echo" is told.
type echoInput struct {
	Text string `json:"text" jsonschema:"what to repeat"`
}

// newServer gives a server with the tools "time" and "echo". The clock comes in
// as an argument, so that a test can say what time it is.
func newServer(now func() time.Time) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "clock-server", Version: "v1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "time", Description: "Tells the time in a time zone."},
		func(_ context.Context, _ *mcp.CallToolRequest, in timeInput) (*mcp.CallToolResult, timeOutput, error) {
			out, err := tell(now(), in.Zone)
			return nil, out, err
		})
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Repeats a text."},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
		})
	return s
}

// tell gives the time t in a zone; without one, in the zone that CLOCK_ZONE
// names.
func tell(t time.Time, zone string) (timeOutput, error) {
	if zone == "" {
		zone = os.Getenv("CLOCK_ZONE")
	}
	loc, err := time.LoadLocation(zone) // "" is UTC
	if err != nil {
		return timeOutput{}, fmt.Errorf("cannot tell the time: %w", err)
	}
	return timeOutput{Time: t.In(loc).Format(time.RFC3339), Zone: loc.String()}, nil
}
