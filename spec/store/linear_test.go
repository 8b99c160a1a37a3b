//go:build unix

package store

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// many is a file with that many agents.
func many(n int, more ...string) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = agent(fmt.Sprintf("a%d", i), more...)
	}
	return strings.Join(texts, "---\n")
}

// allocated is how many bytes are allocated by a call: a measure of how much was
// decoded and copied that does not depend on how busy the machine is.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestManyChangesCostWhatTheyAre: to change all documents of a file that has four
// times as many costs about four times as much, and not sixteen times.
func TestManyChangesCostWhatTheyAre(t *testing.T) {
	suspend := []string{"spec", "suspend"}
	tests := []struct {
		name          string
		before, after []string // what each agent has beside its command
		change        func(*Content, string) error
	}{
		{"set", nil, nil, func(c *Content, name string) error { _, _, err := c.Set(key(name), suspend, true); return err }},
		{"reset", []string{"  suspend: true\n"}, []string{}, func(c *Content, name string) error {
			_, _, err := c.Reset(key(name), suspend, false)
			return err
		}},
		{"replace", nil, []string{"  replicas: 2\n"}, func(c *Content, name string) error {
			_, _, err := c.Put(document(t, agent(name, "  replicas: 2\n")))
			return err
		}},
		{"remove", nil, nil, func(c *Content, name string) error { _, err := c.Remove(key(name)); return err }},
		{"add", nil, nil, func(c *Content, name string) error {
			_, _, err := c.Put(document(t, agent("new-"+name)))
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cost := func(n int) uint64 {
				dir := directory(t, map[string]string{"all.yaml": many(n, tt.before...)})
				do := Try
				if tt.after != nil {
					do = Change
				}
				bytes := allocated(func() {
					err := do(t.Context(), dir, func(c *Content) error {
						for i := range n {
							if err := tt.change(c, fmt.Sprintf("a%d", i)); err != nil {
								return err
							}
						}
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
				})
				if tt.after != nil {
					holds(t, dir, map[string]string{"all.yaml": many(n, tt.after...)})
				}
				return bytes
			}
			cost(100) // what is made once only
			few, lots := cost(100), cost(400)
			if lots > 6*few {
				t.Errorf("400 cost %d KiB and 100 cost %d KiB: more than six times as much", lots>>10, few>>10)
			}
			t.Logf("100: %d KiB, 400: %d KiB", few>>10, lots>>10)
		})
	}
}
