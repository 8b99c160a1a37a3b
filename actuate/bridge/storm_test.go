//go:build unix

package bridge

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestStorm: many clients, all with the same ids, call at once, with progress and
// cancellations between; each answer and each notification reaches who it is for, by
// its content.
func TestStorm(t *testing.T) {
	clients, calls := 100, 100
	if testing.Short() {
		clients, calls = 20, 20
	}
	g := start(t, "", func(_ *Options, lim *limits) { lim.streamCount = 100 })
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			c := g.client()
			var each sync.WaitGroup
			for lane := range 4 {
				each.Go(func() {
					for i := lane; i < calls; i += 4 {
						storm(c, n, i)
					}
				})
			}
			each.Wait()
		})
	}
	all.Wait()
	if found := g.report().Findings; len(found) > 0 {
		t.Errorf("findings: %v", found)
	}
}

// storm makes one call, of a kind that depends on its number, and checks its answer.
func storm(c *client, n, i int) {
	id := strconv.Itoa(i)
	if i%3 == 1 {
		id = strconv.Quote(id) // is another id than the number
	}
	text := fmt.Sprintf("client %d call %d", n, i)
	tool, wait := "echo", 0
	switch i % 5 {
	case 1:
		tool, wait = "progress", 3
	case 2:
		tool, wait = "slow", 1
	case 3:
		go c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
		tool, wait = "slow", 2
	}
	a := c.call(id, tool, text, wait)
	if a.status != 200 || !strings.HasPrefix(a.message(), `{"jsonrpc":"2.0","id":`+id+`,`) {
		c.t.Errorf("%s: %d %s", text, a.status, a.message())
		return
	}
	got := said(a.message())
	cancelled := i%5 == 3 && strings.Contains(got, "cancelled")
	if got != text && !cancelled {
		c.t.Errorf("%s: got %q", text, got)
	}
	if tool != "progress" {
		return
	}
	if len(a.bodies) != 4 {
		c.t.Errorf("%s: %d messages", text, len(a.bodies))
	}
	for _, m := range a.bodies[:len(a.bodies)-1] {
		if !strings.Contains(m, text) || !strings.Contains(m, `"progressToken":`+id) {
			c.t.Errorf("%s: progress of another: %s", text, m)
		}
	}
}
