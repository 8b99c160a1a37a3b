package logs

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func clock(seconds int64) time.Time { return time.Unix(seconds, 0) }

func TestTimelineTellsTheFirstTimeAtWhichALineWasThere(t *testing.T) {
	tl := timeline{marks: []mark{{100, clock(10)}, {200, clock(11)}, {300, clock(60)}}}
	for offset, want := range map[int64]time.Time{0: clock(10), 99: clock(10), 100: clock(11), 299: clock(60), 300: {}} {
		if got, ok := tl.at(offset); !got.Equal(want) || ok == want.IsZero() {
			t.Errorf("at %d: %v, %v; want %v", offset, got, ok, want)
		}
	}
	for since, want := range map[int64]int64{5: 0, 10: 0, 11: 100, 12: 200, 60: 200, 61: 300} {
		if got := tl.from(clock(since)); got != want {
			t.Errorf("since %d: %d, want %d", since, got, want)
		}
	}
	tl.base = 150 // the front was cut off
	if got := tl.from(clock(12)); got != 50 {
		t.Errorf("in the file that was cut: %d", got)
	}
}

func FuzzParseTimes(f *testing.F) {
	good := header{base: 7, cuts: 2}.append(nil)
	f.Add(good)
	f.Add(mark{200, clock(9)}.append(mark{100, clock(1)}.append(good)))
	f.Add([]byte(magic))
	f.Add(bytes.Repeat([]byte{0xff}, 100))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHeader(b)
		if err != nil {
			return
		}
		if h.base < 0 {
			t.Errorf("base %d", h.base)
		}
		tl := timeline{h, parseMarks(b[headerSize:])}
		last := int64(0)
		for _, m := range tl.marks {
			if m.end <= last {
				t.Fatalf("a mark at %d after one at %d", m.end, last)
			}
			last = m.end
			if at, ok := tl.at(m.end - 1); !ok || !at.Equal(m.at) {
				t.Fatalf("the byte before %d is of %v, want %v", m.end, at, m.at)
			}
		}
		if from := tl.from(time.Unix(0, math.MaxInt64)); from < 0 {
			t.Errorf("from %d", from)
		}
		// What was read is written the same.
		out := h.append(nil)
		for _, m := range tl.marks {
			out = m.append(out)
		}
		h2, err := parseHeader(out)
		if diff := cmp.Diff(tl.marks, parseMarks(out[headerSize:]), cmp.AllowUnexported(mark{})); diff != "" || h2 != h || err != nil {
			t.Errorf("%v %v %v\n%s", h, h2, err, diff)
		}
	})
}

func TestRecorderGoesOnWhereAFormerOneEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "Agent.a.x.log")
	note := func(r *Recorder, size int64, at int64) {
		t.Helper()
		if err := r.Note(size, 0, clock(at)); err != nil {
			t.Fatal(err)
		}
	}
	first := NewRecorder(path)
	note(first, 0, 1)
	if _, err := os.Stat(TimesPath(path)); err == nil {
		t.Error("a silent one has times")
	}
	note(first, 100, 1)
	note(first, 100, 2)
	f, err := os.OpenFile(TimesPath(path), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("torn")); err != nil {
		t.Fatal(err)
	}
	f.Close()
	second := NewRecorder(path)
	note(second, 100, 3)
	note(second, 150, 4)
	note(second, 20, 5) // somebody has emptied it
	if err := second.Cut(15, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	note(second, 30, 6)
	want := timeline{header{165, 2}, []mark{{100, clock(1)}, {150, clock(4)}, {170, clock(5)}, {195, clock(6)}}}
	if diff := cmp.Diff(want, readTimes(path), cmp.AllowUnexported(timeline{}, header{}, mark{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A run of days must not have more times than one of hours; what is new stays
// exact.
func TestTimesAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "Agent.a.x.log")
	r := NewRecorder(path)
	const n = 3 * MaxMarks
	for i := range int64(n) {
		if err := r.Note((i+1)*10, 0, clock(i)); err != nil {
			t.Fatal(err)
		}
	}
	fi, err := os.Stat(TimesPath(path))
	if err != nil || fi.Size() > int64(headerSize+MaxMarks*markSize) {
		t.Errorf("%v, %v", fi.Size(), err)
	}
	tl := readTimes(path)
	for i := int64(n - MaxMarks/4); i < n; i++ {
		if at, ok := tl.at(i * 10); !ok || !at.Equal(clock(i)) {
			t.Fatalf("line %d is of %v, %v", i, at.Unix(), ok)
		}
	}
	// Freed parts make room without any loss.
	r = NewRecorder(path)
	if err := r.begin(); err != nil {
		t.Fatal(err)
	}
	if err := r.compact(n * 10 / 10 * 9); err != nil {
		t.Fatal(err)
	}
	if tl = readTimes(path); tl.marks[0].end <= n*9 || len(tl.marks) != r.marks {
		t.Errorf("%d marks from %d on", len(tl.marks), tl.marks[0].end)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"Agent.a.tok.log": "Agent/a tok", "MCPServer.files-2.k7.log": "MCPServer/files-2 k7",
		"Agent.a.tok.times": "", "Agent.a.log": "", "agent.a.tok.log": "", ".log": "", "x": "", "Agent.A.t.log": "", "Agent.a..log": "",
	} {
		key, token, ok := ParseName(name)
		if got := key.String() + " " + token; ok && got != want || ok != (want != "") {
			t.Errorf("%s is %q, %v", name, got, ok)
		}
	}
}
