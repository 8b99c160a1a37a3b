//go:build unix

package bridge

import (
	"fmt"
	"strings"
	"testing"
)

// TestMissed: a client for which more has come than is kept goes on with what there is,
// whether or not it says how far it was.
func TestMissed(t *testing.T) {
	g := start(t, "", func(_ *Options, lim *limits) { lim.streamCount = 3 })
	c, other := g.client(), g.client()
	call := func(id int) {
		if got := said(other.call(fmt.Sprint(id), "log", "warning", 0).message()); got != "warning" {
			t.Fatalf("log: %s", got)
		}
	}
	for id := range 5 {
		call(id)
	}
	l := c.get()
	var ids []string
	for range 3 {
		ids = append(ids, l.next(t).ID)
	}
	l.close()
	for id := range 5 {
		call(id)
	}
	l = c.get("Last-Event-ID", ids[2])
	for range 3 {
		ids = append(ids, l.next(t).ID)
	}
	if got := strings.Join(ids, " "); got != "0_3 0_4 0_5 0_8 0_9 0_10" {
		t.Errorf("heard %s", got)
	}
}
