package logs

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// free frees the first bytes of a file, as its keeper does.
func (w writer) free(bytes int64) {
	w.t.Helper()
	const mode = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	switch err := unix.Fallocate(int(w.Fd()), mode, 0, bytes); err {
	case nil:
	case unix.EOPNOTSUPP:
		w.t.Skip("the file system cannot free a part of a file")
	default:
		w.t.Fatal(err)
	}
}

// numbered gives lines of 100 bytes.
func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "%099d\n", i)
	}
	return b.String()
}

func TestFreedPartsAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	w := newRun(t, dir, "t1")
	w.say("%s", numbered(0, 1000))
	w.free(40960)
	for _, q := range []Query{{Tail: -1}, {Tail: 100_000}, {Tail: -1, Since: time.Now().Add(-time.Hour)}} {
		got := all(t, dir, q)
		// The line across the border is not whole.
		if len(got) != 590 || got[0] != fmt.Sprintf("%099d", 410) || got[589] != fmt.Sprintf("%099d", 999) {
			t.Errorf("%+v: %d lines, the first %q", q, len(got), got[0])
		}
	}
}

// What is freed before a slow reader comes to it is told, and no zeros are shown.
func TestReaderThatIsOvertaken(t *testing.T) {
	dir := t.TempDir()
	w := newRun(t, dir, "t1")
	w.say("%s", numbered(0, 10_000))
	var lines []string
	var skipped int64
	once := sync.OnceFunc(func() { w.free(600 * 1024) })
	err := Read(t.Context(), dir, key, Query{Tail: -1}, func(l Line) error {
		once() // after the first chunk was read
		lines = append(lines, string(l.Text))
		skipped += l.Skipped
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsRune(strings.Join(lines, ""), 0) {
		t.Error("zeros were shown")
	}
	if want := int64(600*1024 - chunkSize); skipped != want {
		t.Errorf("%d bytes skipped, want %d", skipped, want)
	}
	if last := lines[len(lines)-1]; last != fmt.Sprintf("%099d", 9999) {
		t.Errorf("the last is %q", last)
	}
	for i, line := range lines {
		if len(line) != 99 {
			t.Fatalf("line %d is %q", i, line)
		}
	}
}

// The bell rings once, for the first write after it was armed.
func TestBellRingsOncePerArming(t *testing.T) {
	w := newRun(t, t.TempDir(), "t1")
	b, err := NewBell()
	if err != nil {
		t.Fatal(err)
	}
	rings := make(chan string, 100)
	var done sync.WaitGroup
	done.Go(func() {
		for {
			paths, err := b.Wait()
			if err != nil {
				return
			}
			for _, p := range paths {
				rings <- p
			}
		}
	})
	defer done.Wait()
	defer b.Close()
	for range 3 {
		if !b.Arm(w.Name()) {
			t.Fatal("not armed")
		}
		for range 50 {
			w.say("x")
		}
		if got := <-rings; got != w.Name() {
			t.Error(got)
		}
	}
	if !b.Arm(w.Name()) {
		t.Fatal("not armed")
	}
	b.Disarm(w.Name())
	w.say("x")
	if n := len(rings); n != 0 {
		t.Errorf("%d rings too many", n)
	}
	if b.Arm("/nonexistent") {
		t.Error("armed for what is not there")
	}
}
