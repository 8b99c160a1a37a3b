//go:build linux

package actuate

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/actuate/logs"
	"github.com/proc-controller/proc-controller/spec"
)

// allocated is the disk space of a file.
func allocated(t *testing.T, path string) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// A writer that never stops must not fill the disk, and must lose none of its
// newest lines.
func TestOutputIsBoundedUnderALiveWriter(t *testing.T) {
	a := newActuator(t)
	line := strings.Repeat("x", 1000)
	in := mustStart(t, a, shell(t, `i=0; while [ $i -lt 40000 ]; do echo "`+line+` $i"; i=$((i+1)); done; echo the end; sleep 100`))
	eventually(t, "the writer is done", func() bool { return LastLine(in.Log) == "the end" })
	fi, err := os.Stat(in.Log)
	if err != nil || fi.Size() < 40000*1000 {
		t.Fatalf("size %d, %v: offsets must stay", fi.Size(), err)
	}
	eventually(t, "within its bound", func() bool { return allocated(t, in.Log) <= spec.DefaultLogBounds.MaxBytes })
	f, err := os.Open(in.Log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tail := make([]byte, keptBytes(spec.DefaultLogBounds)-1<<20)
	if _, err := f.ReadAt(tail, fi.Size()-int64(len(tail))); err != nil {
		t.Fatal(err)
	}
	if bytes.IndexByte(tail, 0) >= 0 {
		t.Error("a part of the newest output was freed")
	}
}

// The way for file systems that cannot free the front of a file.
func TestCopyAndTruncateKeepsTheNewest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	writer, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	for i := range 1000 {
		fmt.Fprintf(writer, "line %d\n", i)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fi, _ := f.Stat()
	if err := copyAndTruncate(f, fi.Size(), 100); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(writer, "and on")
	got, _ := os.ReadFile(path)
	if !strings.HasSuffix(string(got), "line 998\nline 999\nand on\n") || len(got) > 120 {
		t.Errorf("%q", got)
	}
}

func TestFormerRunsAreThinnedOutButNotThoseInUse(t *testing.T) {
	k := &logKeeper{dir: t.TempDir(), log: logr.Discard(), files: map[string]*boundedLog{}, logBounds: newLogBounds()}
	k.set("Agent.a.", spec.LogBounds{MaxBytes: 1 << 20, Keep: 2})
	var open *os.File
	for i := range 8 {
		f, err := openLog(filepath.Join(k.dir, fmt.Sprintf("Agent.a.t-%d.log", i)))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			open = f // the oldest, but its writer lives
			defer open.Close()
		} else {
			f.Close()
		}
		if err := os.WriteFile(logs.TimesPath(f.Name()), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(f.Name(), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(k.dir, "Agent.a.gone.times"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k.thinOut(map[string]bool{"Agent.b.": true, "Agent.c.": true})
	if entries, _ := os.ReadDir(k.dir); len(entries) != 17 {
		t.Errorf("thinning out another key left %d", len(entries))
	}
	k.thinOut(map[string]bool{"Agent.a.": true})
	var left []string
	entries, _ := os.ReadDir(k.dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if got := strings.Join(left, " "); got != "Agent.a.t-0.log Agent.a.t-0.times Agent.a.t-6.log Agent.a.t-6.times Agent.a.t-7.log Agent.a.t-7.times" {
		t.Errorf("left are %s", got)
	}
}

func TestNextLook(t *testing.T) {
	for _, tc := range []struct {
		last  time.Duration
		grown int64
		want  time.Duration
	}{
		{firstLook, 0, 2 * firstLook},
		{50 * time.Second, 0, restingLook},
		{restingLook, 0, restingLook},
		{time.Second, 1 << 30, fastestLook},
		{time.Second, 1 << 20, time.Second},
		{time.Second, 1, time.Second},
		{firstLook, 1, 2 * firstLook},
		{time.Second, -5 << 20, time.Second},
		{restingLook, 1, growingLook},
	} {
		if got := nextLook(tc.last, tc.grown, spec.DefaultLogBounds); got != tc.want {
			t.Errorf("nextLook(%v, %d) is %v, not %v", tc.last, tc.grown, got, tc.want)
		}
	}
}

// A thousand files that rest must cost next to nothing, which is what this
// counts: the looks and the wake-ups of ten minutes.
func TestRestingFilesAreLookedAtTogether(t *testing.T) {
	k := &logKeeper{files: map[string]*boundedLog{}, fresh: map[string]bool{}, logBounds: newLogBounds()}
	var err error
	if k.bell, err = logs.NewBell(); err != nil {
		t.Log(err)
	}
	defer k.bell.Close()
	dir := t.TempDir()
	now := time.Now()
	for i := range 1000 {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte("quiet\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		k.addLocked(path, now.Add(time.Duration(i)*time.Millisecond))
	}
	settled := now.Add(5 * time.Minute)
	for now.Before(settled) {
		now = now.Add(k.lookAtDue(now))
	}
	wakeups, began := 0, now
	var before, after unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &before)
	for now.Sub(began) < 10*time.Minute {
		now = now.Add(k.lookAtDue(now))
		wakeups++
	}
	_ = unix.Getrusage(unix.RUSAGE_SELF, &after)
	if wakeups > 60 {
		t.Errorf("%d wake-ups in ten minutes", wakeups)
	}
	cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	t.Logf("%d wake-ups and %v of CPU time in ten minutes", wakeups, cpu)
}

func TestLastLine(t *testing.T) {
	for _, tc := range []struct{ content, want string }{
		{"", ""},
		{"\n \n", ""},
		{"one", "one"},
		{"one\ntwo\n\n", "two"},
		{"old\n\x00\x00\x00new\n", "new"},
		{"one\n\x00\x00", ""},
		{" 10%\r 20%\r 30%\r\n", "30%"},
		{"a\x1b[31mred\x07\n", "a[31mred"},
		{strings.Repeat("y", 9000) + "\n", strings.Repeat("y", maxLastLine)},
		{"bad \xff utf\n", "bad  utf"},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := LastLine(path); got != tc.want {
			t.Errorf("of %q: %q, not %q", tc.content, got, tc.want)
		}
	}
	if got := LastLine("/nonexistent"); got != "" {
		t.Errorf("of a missing file: %q", got)
	}
}

func TestLogPathNamesKeyAndInstance(t *testing.T) {
	got := LogPath("/state", spec.Key{Kind: spec.KindAgent, Name: "mend"}, "abc-12")
	if got != "/state/logs/Agent.mend.abc.log" {
		t.Error(got)
	}
}

func TestLastLines(t *testing.T) {
	var all, last []string
	for i := range 30 {
		all = append(all, fmt.Sprintf("  line %d", i))
	}
	last = all[10:]
	long := strings.Repeat("x", 600)
	for name, tc := range map[string]struct {
		content string
		want    []string
	}{
		"nothing":           {"", nil},
		"thirty":            {strings.Join(all, "\n") + "\n", last},
		"blank ones":        {"a\n\n \t\nb\n\n", []string{"a", "b"}},
		"freed":             {"a\n\x00\x00b\nc", []string{"b", "c"}},
		"longer than 8 KiB": {"begins before" + strings.Repeat(long+"\n", 20), slices.Repeat([]string{long[:maxLastLine]}, 13)},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, LastLines(path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
