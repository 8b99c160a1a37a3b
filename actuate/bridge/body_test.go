//go:build unix

package bridge

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// TestBodiesKeepNobodyOut: neither those that are only announced, nor those of calls
// that take long, whether or not their length was said before.
func TestBodiesKeepNobodyOut(t *testing.T) {
	g := start(t, "", func(_ *Options, lim *limits) {
		lim.body, lim.bodies, lim.quiet = 64<<10, 128<<10, 20*time.Millisecond
	})
	c := g.client()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range 6 {
		var body io.Reader = strings.NewReader(callBody(fmt.Sprint(i), "never", strings.Repeat("x", 40<<10), 0))
		if i%2 == 0 {
			body = struct{ io.Reader }{body} // its length is not known
		}
		resp, err := g.send(ctx, "POST", body, "Mcp-Session-Id", c.session)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("call %d: %v %v", i, resp, err)
		}
		defer resp.Body.Close()
	}
	for i := range 6 {
		length := "Content-Length: 65536"
		if i%2 == 0 {
			length = "Transfer-Encoding: chunked"
		}
		conn, err := net.Dial("tcp", host(g.url))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: */*\r\nMcp-Session-Id: %s\r\n%s\r\n\r\n", host(g.url), c.session, length)
	}
	eventually(t, func() string {
		if n := g.b.requests.Load(); n != 12 {
			return fmt.Sprintf("%d requests are being served", n)
		}
		return ""
	})
	if got := said(c.call(`"e"`, "echo", "e", 0).message()); got != "e" {
		t.Errorf("another call: %s", got)
	}
	eventually(t, func() string {
		if n := g.b.bodies.Load(); n != 0 {
			return fmt.Sprintf("%d bytes are held", n)
		}
		return ""
	})
}

// TestBodiesAreBounded: all of them together.
func TestBodiesAreBounded(t *testing.T) {
	g := start(t, "", func(_ *Options, lim *limits) { lim.body, lim.bodies = 64<<10, 32<<10 })
	c := g.client()
	if a := c.call("1", "echo", strings.Repeat("x", 40<<10), 0); a.status != 503 || a.header.Get("Retry-After") == "" {
		t.Errorf("status %d %s", a.status, a.message())
	}
	if got := said(c.call("2", "echo", "e", 0).message()); got != "e" {
		t.Errorf("after that: %s", got)
	}
}
