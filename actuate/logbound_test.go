//go:build linux

package actuate

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/actuate/logs"
	"github.com/proc-controller/proc-controller/spec"
)

// What was written between the last look and the end is bounded too.
func TestOutputIsBoundedOnceMoreAtTheEnd(t *testing.T) {
	state := t.TempDir()
	if err := os.Mkdir(logs.Dir(state), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(logs.Dir(state), "Agent.a.b.log")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k := newLogKeeper(state, logr.Discard())
	defer k.Close()
	k.Add(path, spec.DefaultLogBounds)
	k.mu.Lock() // as if the next look were far off
	k.files[path].due = time.Now().Add(time.Hour)
	k.mu.Unlock()
	if err := os.WriteFile(path, bytes.Repeat([]byte("flood\n"), int(spec.DefaultLogBounds.MaxBytes)/2), 0o600); err != nil {
		t.Fatal(err)
	}
	k.Drop(path)
	eventually(t, "the output is bounded", func() bool {
		var st unix.Stat_t
		return unix.Stat(path, &st) == nil && st.Blocks*512 <= spec.DefaultLogBounds.MaxBytes
	})
	eventually(t, "it is watched no more", func() bool { return !k.watches(path) })
}

// floodOf makes an output file of Agent/a with that many bytes, and keeps it open
// as a workload would.
func floodOf(t *testing.T, state, token string, size int) *os.File {
	t.Helper()
	if err := os.MkdirAll(logs.Dir(state), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := openLog(filepath.Join(logs.Dir(state), "Agent.a."+token+".log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(bytes.Repeat([]byte("flood\n"), size/6)); err != nil {
		t.Fatal(err)
	}
	return f
}

// keeper keeps the files of a state directory until the test ends.
func keeper(t *testing.T, state string) *logKeeper {
	t.Helper()
	k := newLogKeeper(state, logr.Discard())
	t.Cleanup(k.Close)
	return k
}

// seen waits until a file has been looked at as it is.
func (k *logKeeper) seen(t *testing.T, f *os.File) {
	t.Helper()
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the file is looked at", func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		b := k.files[f.Name()]
		return b != nil && b.size == fi.Size()
	})
}

var agentA = spec.Key{Kind: spec.KindAgent, Name: "a"}

// What was adopted is cut only once it is known how much is to be kept of it; an
// edit is acted on at once.
func TestBoundsOfAdoptedOutput(t *testing.T) {
	state := t.TempDir()
	const size = 12 << 20
	f := floodOf(t, state, "b", size)
	k := keeper(t, state)
	k.seen(t, f)
	k.Bound(map[spec.Key]spec.LogBounds{{Kind: spec.KindAgent, Name: "other"}: {MaxBytes: 1 << 20}}, false)
	if _, err := f.Write([]byte("more\n")); err != nil {
		t.Fatal(err)
	}
	k.seen(t, f)
	if n := allocated(t, f.Name()); n < size {
		t.Errorf("%d bytes are left before the manifests were read", n)
	}
	k.Bound(map[spec.Key]spec.LogBounds{agentA: {MaxBytes: 20 << 20, Keep: 3}}, true)
	if _, err := f.Write([]byte("more\n")); err != nil {
		t.Fatal(err)
	}
	k.seen(t, f)
	if n := allocated(t, f.Name()); n < size {
		t.Errorf("%d bytes are left of what may have 20 MiB", n)
	}
	k.Bound(map[spec.Key]spec.LogBounds{agentA: {MaxBytes: 1 << 20, Keep: 3}}, true)
	eventually(t, "the edit is acted on", func() bool { return allocated(t, f.Name()) <= 1<<20 })
}

func TestOutputOfNobodyHasTheDefaultBounds(t *testing.T) {
	state := t.TempDir()
	f := floodOf(t, state, "b", 12<<20)
	k := keeper(t, state)
	k.Bound(nil, true)
	eventually(t, "it is bounded", func() bool { return allocated(t, f.Name()) <= spec.DefaultLogBounds.MaxBytes })
}

// A line that is written after a long rest has its time, although nobody looks at
// a file that rests.
func TestTimesAfterARest(t *testing.T) {
	state := t.TempDir()
	f := floodOf(t, state, "b", 6)
	k := keeper(t, state)
	k.Add(f.Name(), spec.DefaultLogBounds)
	for i := range 3 {
		eventually(t, "the file is left to the bell", func() bool {
			k.mu.Lock()
			defer k.mu.Unlock()
			b := k.files[f.Name()]
			if b.armed { // and to nothing else
				b.due = time.Now().Add(time.Hour)
				k.queue.fix(b)
			}
			return b.armed
		})
		noted := sizeOf(t, logs.TimesPath(f.Name()))
		began := time.Now().Add(-20 * time.Millisecond) // the clock of files ticks seldom
		if _, err := f.WriteString("a line\n"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "its time is noted", func() bool { return sizeOf(t, logs.TimesPath(f.Name())) > noted })
		ended := time.Now()
		times := timesOf(t, state)
		if at := times[len(times)-1]; len(times) != i+2 || at.Before(began) || at.After(ended) {
			t.Errorf("line %d is of %v, and was written between %v and %v", i, at, began, ended)
		}
	}
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi.Size()
}

// timesOf gives the times of all lines of Agent/a.
func timesOf(t *testing.T, state string) (times []time.Time) {
	t.Helper()
	err := logs.Read(t.Context(), logs.Dir(state), agentA, logs.Query{Tail: -1}, func(l logs.Line) error {
		times = append(times, l.Time)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return times
}
