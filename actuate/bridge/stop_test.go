//go:build unix

package bridge

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

func marked(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

func awaitMark(t *testing.T, file string) {
	t.Helper()
	eventually(t, func() string {
		if marked(t, file) == "" {
			return "the server has not come so far"
		}
		return ""
	})
}

// TestStopStartsNothing: a greeting that the stop has cut short says nothing of the
// server, so that none is started to try the other era.
func TestStopStartsNothing(t *testing.T) {
	memory, starts := filepath.Join(t.TempDir(), "era"), filepath.Join(t.TempDir(), "starts")
	if err := os.WriteFile(memory, []byte("Modern\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := start(t, "mark="+starts+",silent", func(o *Options, _ *limits) { o.Memory, o.Grace = memory, 500*time.Millisecond })
	awaitMark(t, starts)
	if err := g.stop(); err != nil {
		t.Errorf("stopped with %v", err)
	}
	if got := marked(t, starts); got != "x" {
		t.Errorf("%d processes of the server were started", len(got))
	}
}

// TestStopOfARehearsal: it waits for no answer of the server.
func TestStopOfARehearsal(t *testing.T) {
	asked := filepath.Join(t.TempDir(), "asked")
	g := start(t, "listless="+asked, func(o *Options, lim *limits) {
		o.Sharing, lim.own = spec.SharingPerSession, time.Hour
	})
	awaitMark(t, asked)
	if err := g.stop(); err != nil {
		t.Errorf("stopped with %v", err)
	}
}

// TestMaxSessions holds also where many come at one time.
func TestMaxSessions(t *testing.T) {
	g := start(t, "", func(o *Options, _ *limits) { o.Sharing, o.MaxSessions = spec.SharingPerSession, 3 })
	eventually(t, func() string { return g.report().Problem })
	var all sync.WaitGroup
	var in atomic.Int64
	for range 60 {
		all.Go(func() {
			if a := g.request("POST", initBody); a.status == 200 {
				in.Add(1)
			}
		})
	}
	all.Wait()
	if n := in.Load(); n < 1 || n > 3 {
		t.Errorf("%d sessions were let in", n)
	}
}
