package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type record struct {
	From int    `json:"from"`
	N    int    `json:"n"`
	Pad  string `json:"pad,omitempty"`
}

// logged collects what is logged.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) logger() logr.Logger {
	return funcr.New(func(_, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, args)
	}, funcr.Options{})
}

func (l *logged) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func closeNow(t *testing.T, c interface{ Close(context.Context) error }) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

func load(t *testing.T, path string) (got []record, skipped int) {
	t.Helper()
	skipped, err := Load(path, func(line []byte) error {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		got = append(got, r)
		return nil
	})
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return got, skipped
}

// eventually looks every few milliseconds, for ten seconds at most.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for range 5000 {
		if is() {
			return
		}
		<-ticker.C
	}
	t.Fatalf("not so after ten seconds: %s", what)
}

func TestKeepsOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "events.jsonl")
	j := Open(path, Options{Sync: true, Log: logr.Discard()})
	var wg sync.WaitGroup
	for from := range 4 {
		wg.Go(func() {
			for n := range 500 {
				j.Append(record{From: from, N: n})
			}
		})
	}
	wg.Wait()
	closeNow(t, j)
	got, skipped := load(t, path)
	next := make([]int, 4)
	for _, r := range got {
		if r.N != next[r.From] {
			t.Fatalf("record %d of %d comes where %d should", r.N, r.From, next[r.From])
		}
		next[r.From]++
	}
	if len(got) != 2000 || skipped != 0 {
		t.Errorf("%d records, %d skipped", len(got), skipped)
	}
	if st, err := os.Stat(filepath.Dir(path)); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v", st.Mode(), err)
	}
}

func TestNothingIsMadeBeforeTheFirstRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "events.jsonl")
	closeNow(t, Open(path, Options{Log: logr.Discard()}))
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Errorf("the directory is there: %v", err)
	}
	if _, skipped := load(t, path); skipped != 0 {
		t.Errorf("a missing file has %d bad lines", skipped)
	}
}

func TestTornAndGarbageLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	const content = "{\"n\":1}\n\x00\xff garbage\n\n{\"n\":\"text\"}\n{\"n\":2}\n{\"n\":3,\"pa"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	j := Open(path, Options{Log: logr.Discard()})
	j.Append(record{N: 4})
	closeNow(t, j)
	got, skipped := load(t, path)
	if len(got) != 3 || got[0].N != 1 || got[1].N != 2 || got[2].N != 4 || skipped != 3 {
		t.Errorf("got %v, %d skipped; want 1, 2, 4 and 3 skipped", got, skipped)
	}
}

func TestDirectoryDeletedWhileRunning(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	path := filepath.Join(dir, "ledger.jsonl")
	j := Open(path, Options{Log: logr.Discard()})
	defer closeNow(t, j)
	j.Append(record{N: 1})
	eventually(t, "the first record is written", func() bool { got, _ := load(t, path); return len(got) == 1 })
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	j.Append(record{N: 2})
	eventually(t, "the second record is in a new file", func() bool {
		got, _ := load(t, path)
		return len(got) == 1 && got[0].N == 2
	})
}

func TestUnwritableIsToldOnceAndRecovers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	path := filepath.Join(dir, "ledger.jsonl")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the directory should be
		t.Fatal(err)
	}
	var log logged
	j := Open(path, Options{MaxQueued: 10, Log: log.logger(), retry: time.Millisecond})
	defer closeNow(t, j)
	j.Append(record{N: 0})
	eventually(t, "the failure is logged", func() bool { return log.count("cannot write records") == 1 })
	for n := 1; n <= 200; n++ {
		j.Append(record{N: n})
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the last record is written", func() bool {
		got, _ := load(t, path)
		return len(got) > 0 && got[len(got)-1].N == 200
	})
	got, _ := load(t, path)
	if !slices.IsSortedFunc(got, func(a, b record) int { return a.N - b.N }) {
		t.Errorf("not in order: %v", got)
	}
	eventually(t, "the recovery is logged", func() bool { return log.count("takes records again") == 1 })
	if n := log.count("cannot write records"); n != 1 {
		t.Errorf("the failure was logged %d times", n)
	}
}

func TestOldestAreDroppedWithOneWarning(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var log logged
	j := Open(filepath.Join(dir, "ledger.jsonl"), Options{MaxQueued: 10, Log: log.logger(), retry: time.Hour})
	j.Append(record{N: -1})
	eventually(t, "the failure is logged", func() bool { return log.count("cannot write records") == 1 })
	for n := range 100 {
		j.Append(record{N: n})
	}
	if n := log.count("being dropped"); n != 1 {
		t.Errorf("warned %d times", n)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	closeNow(t, j)
	got, _ := load(t, filepath.Join(dir, "ledger.jsonl"))
	// The first was encoded before the disk refused; of the others the last ten.
	if len(got) != 11 || got[0].N != -1 || got[1].N != 90 || got[10].N != 99 {
		t.Errorf("kept %v", got)
	}
}

func TestFIFOInTheWayDelaysNobody(t *testing.T) {
	var log logged
	path := filepath.Join(t.TempDir(), "events.jsonl")
	makeFIFO(t, path)
	j := Open(path, Options{Log: log.logger()})
	j.Append(record{N: 1})
	closeNow(t, j)
	if n := log.count("not a regular file"); n != 1 {
		t.Errorf("told %d times", n)
	}
	if _, err := Load(path, func([]byte) error { return nil }); err == nil {
		t.Error("Load takes a FIFO for a journal")
	}
}

func TestRotationKeepsTheNewerHalf(t *testing.T) {
	const bound = 64 << 10
	path := filepath.Join(t.TempDir(), "events.jsonl")
	j := Open(path, Options{MaxBytes: bound, Log: logr.Discard()})
	const records = 5000
	for n := range records {
		j.Append(record{N: n, Pad: strings.Repeat("x", 50)})
		if n%50 == 0 { // a batch is written whole, so let some be small
			eventually(t, "it is written", func() bool { j.mu.Lock(); defer j.mu.Unlock(); return len(j.queue) == 0 })
		}
	}
	closeNow(t, j)
	got, skipped := load(t, path)
	for i, r := range got {
		if r.N != records-len(got)+i {
			t.Fatalf("record %d is %d: a gap, or out of order", i, r.N)
		}
	}
	if len(got) == 0 || skipped != 0 {
		t.Errorf("%d records, %d skipped", len(got), skipped)
	}
	size := int64(0)
	for _, p := range []string{path, older(path)} {
		if st, err := os.Stat(p); err == nil {
			size += st.Size()
		}
	}
	if size > bound*5/4 || size < bound/4 {
		t.Errorf("%d bytes are kept, the bound being %d", size, bound)
	}
}

// A flood, faster than the disk takes it, loses what is old: the newest is kept,
// and the files stay within their bound, but for what one write adds to each.
func TestFloodKeepsTheNewest(t *testing.T) {
	const bound, queued, records = 128 << 10, 500, 50_000
	path := filepath.Join(t.TempDir(), "events.jsonl")
	j := Open(path, Options{MaxBytes: bound, MaxQueued: queued, Log: logr.Discard()})
	for n := range records {
		j.Append(record{N: n, Pad: strings.Repeat("x", 50)})
	}
	closeNow(t, j)
	got, skipped := load(t, path)
	if len(got) == 0 || skipped != 0 || got[len(got)-1].N != records-1 {
		t.Fatalf("%d records, %d skipped; want the newest among them", len(got), skipped)
	}
	for i := 1; i < len(got); i++ {
		if got[i].N <= got[i-1].N {
			t.Fatalf("%d comes after %d", got[i].N, got[i-1].N)
		}
	}
	size := int64(0)
	for _, p := range []string{path, older(path)} {
		if st, err := os.Stat(p); err == nil {
			size += st.Size()
		}
	}
	if limit := int64(bound * 5 / 4); size > limit+1000 {
		t.Errorf("%d bytes are kept, want at most %d", size, limit)
	}
}

func TestCompactKeepsWhatMatters(t *testing.T) {
	const bound = 32 << 10
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	calls := 0
	j := Open(path, Options{MaxBytes: bound, Log: logr.Discard(), Compact: func(lines [][]byte) [][]byte {
		calls++
		return lines[len(lines)-1:]
	}})
	for n := range 3000 {
		j.Append(record{N: n, Pad: strings.Repeat("x", 50)})
		if n%50 == 0 {
			eventually(t, "it is written", func() bool { j.mu.Lock(); defer j.mu.Unlock(); return len(j.queue) == 0 })
		}
	}
	closeNow(t, j)
	got, skipped := load(t, path)
	if len(got) == 0 || got[len(got)-1].N != 2999 || skipped != 0 {
		t.Errorf("%d records, %d skipped", len(got), skipped)
	}
	if calls == 0 || len(got) > 1000 {
		t.Errorf("compacted %d times, %d records are left", calls, len(got))
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestNobodyWaitsForADiskThatHangs(t *testing.T) {
	hanging, released := make(chan struct{}), make(chan struct{})
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	j := Open(path, Options{MaxBytes: 1, Log: logr.Discard(), Compact: func(lines [][]byte) [][]byte {
		select {
		case <-released:
		default:
			close(hanging)
			<-released
		}
		return lines
	}})
	j.Append(record{N: 0})
	<-hanging
	for n := 1; n < 100; n++ {
		j.Append(record{N: n})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Close(ctx); err == nil {
		t.Error("Close says that everything is written")
	}
	close(released)
	closeNow(t, j)
	if got, _ := load(t, path); len(got) != 100 {
		t.Errorf("%d records are there", len(got))
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("{\"n\":1}\n{\"n\":"))
	f.Add([]byte("\n\n\x00\n[]\r\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "j")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		lines := 0
		skipped, err := Load(path, func(line []byte) error {
			if !json.Valid(line) {
				t.Errorf("given a line that is no JSON: %q", line)
			}
			lines++
			return nil
		})
		if err != nil || lines+skipped != len(splitLines(content)) {
			t.Errorf("%d lines and %d skipped of %q, %v", lines, skipped, content, err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	j := Open(filepath.Join(b.TempDir(), "ledger.jsonl"), Options{MaxQueued: 1 << 30, Log: logr.Discard()})
	b.ReportAllocs()
	for n := range b.N {
		j.Append(record{N: n})
	}
	b.StopTimer()
	if err := j.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}

func ExampleLoad() {
	dir, _ := os.MkdirTemp("", "journal")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "events.jsonl")
	j := Open(path, Options{Log: logr.Discard()})
	j.Append(map[string]string{"event": "Started"})
	_ = j.Close(context.Background())
	_, _ = Load(path, func(line []byte) error {
		fmt.Println(string(line))
		return nil
	})
	// Output: {"event":"Started"}
}
