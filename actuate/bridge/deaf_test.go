//go:build unix

package bridge

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// filling is more than the pipe to a server holds, and what waits for it.
var filling = strings.Repeat("x", 256<<10)

// deafened gives a client whose server reads nothing any more, sooner or later.
func deafened(t *testing.T, sharing spec.Sharing) *client {
	t.Helper()
	g := start(t, "", func(o *Options, lim *limits) {
		o.Sharing, o.Grace = sharing, time.Second
		lim.outbox, lim.own = 64<<10, 300*time.Millisecond
	})
	eventually(t, func() string { return g.report().Problem })
	c := g.client("2025-03-26")
	if got := said(c.call("0", "deaf", "d", 0).message()); got != "d" {
		t.Fatalf("deaf: %q", got)
	}
	return c
}

// untilTold sends something until it is answered that the server does not read.
func (c *client) untilTold(body string, headers ...string) {
	c.t.Helper()
	eventually(c.t, func() string {
		// What it has read, or still may, is not answered.
		ctx, cancel := context.WithTimeout(c.t.Context(), soon/10)
		defer cancel()
		resp, err := c.do(ctx, "POST", body, headers...)
		if err != nil {
			return err.Error()
		}
		if m := c.read(resp).message(); !strings.Contains(m, "the server does not read its input") {
			return fmt.Sprintf("told %q", m)
		}
		return ""
	})
}

// TestBatchToADeafServer: all that has no answer in a batch costs no more time than one
// such message by itself.
func TestBatchToADeafServer(t *testing.T) {
	c := deafened(t, spec.SharingPerSession)
	note := `{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"x":"` + filling + `"}},`
	rest := strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"},`, 100)
	c.untilTold("["+note+note+rest+callBody("1", "echo", filling, 0)+"]", "Mcp-Session-Id", c.session)
}

// TestNotificationToADeafServer is refused in words.
func TestNotificationToADeafServer(t *testing.T) {
	c := deafened(t, spec.SharingPerSession)
	c.untilTold(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"x":"`+filling+`"}}`, "Mcp-Session-Id", c.session)
}

// TestModernToADeafServer: nor does a request without a session wait for ever.
func TestModernToADeafServer(t *testing.T) {
	c := deafened(t, spec.SharingShared)
	body := strings.Replace(callBody("1", "echo", filling, 0), `"_meta":{`, metaBody[:len(metaBody)-1]+",", 1)
	c.untilTold(body, "Mcp-Protocol-Version", modernVersion, "Mcp-Method", "tools/call", "Mcp-Name", "echo")
}
