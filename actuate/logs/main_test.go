package logs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/proc-controller/proc-controller/spec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var key = spec.Key{Kind: spec.KindAgent, Name: "a"}

// writer is a workload that writes its output.
type writer struct {
	*os.File
	t *testing.T
}

// newRun makes the output file of an instance of key.
func newRun(t *testing.T, dir, token string) writer {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, SeriesOf(key)+token+suffix), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return writer{f, t}
}

func (w writer) say(format string, args ...any) {
	w.t.Helper()
	if _, err := fmt.Fprintf(w, format, args...); err != nil {
		w.t.Fatal(err)
	}
}

// mark notes how much there is.
func (w writer) mark(r *Recorder, at time.Time) {
	w.t.Helper()
	fi, err := w.Stat()
	if err == nil {
		err = r.Note(fi.Size(), 0, at)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// all gives the lines of a query, pieces put together.
func all(t *testing.T, dir string, q Query) []string {
	t.Helper()
	var lines []string
	var line strings.Builder
	err := Read(t.Context(), dir, key, q, func(l Line) error {
		line.Write(l.Text)
		if !l.More {
			lines = append(lines, line.String())
			line = strings.Builder{}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// following is a reader that follows.
type following struct {
	t    *testing.T
	stop func() error

	mu    sync.Mutex
	lines []string
	told  Line // the last one, without its text
}

// followAll follows until the test ends.
func followAll(t *testing.T, dir string, q Query) *following {
	t.Helper()
	f := &following{t: t}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	q.Follow = true
	go func() {
		ended <- Read(ctx, dir, key, q, func(l Line) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.lines = append(f.lines, l.Instance+": "+string(l.Text))
			l.Text = nil
			f.told = l
			return nil
		})
	}()
	f.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() {
		if err := f.stop(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *following) so() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.lines, "|")
}

// wants waits until exactly these lines have come.
func (f *following) wants(want string) {
	f.t.Helper()
	eventually(f.t, func() error {
		if got := f.so(); got != want {
			return fmt.Errorf("got %q, want %q", got, want)
		}
		return nil
	})
}

// eventually waits until check has no objection.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(errors.Join(errors.New("it did not come to that"), err))
		}
	}
}
