package journal

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// lastOfEach keeps the newest line of each key.
func lastOfEach(lines [][]byte) [][]byte {
	var kept [][]byte
	seen := map[int]bool{}
	for _, line := range slices.Backward(lines) {
		var r struct{ Key int }
		if json.Unmarshal(line, &r) == nil && !seen[r.Key] {
			seen[r.Key] = true
			kept = append(kept, line)
		}
	}
	slices.Reverse(kept)
	return kept
}

type numbered struct {
	Key, Value int
	Padding    string
}

// values folds the lines of a mirror as a ledger is folded.
func values(t *testing.T, m *Mirror) map[int]int {
	t.Helper()
	got := map[int]int{}
	for line := range m.Lines {
		var r numbered
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got[r.Key] = r.Value
	}
	return got
}

// A mirror says what was appended last, however often it was compacted, to us
// and to whoever takes it over; and it does not grow.
func TestMirrorOutlivesItsWriter(t *testing.T) {
	m, err := NewMirror(lastOfEach)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const keys, rounds = 10, 1000
	padding := fmt.Sprintf("%200d", 0)
	for i := range rounds {
		for k := range keys {
			m.Append(numbered{k, i*keys + k, padding})
		}
	}
	want := map[int]int{}
	for k := range keys {
		want[k] = (rounds-1)*keys + k
	}
	if got := values(t, m); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("it has %v, want %v", got, want)
	}
	var st unix.Stat_t
	if err := unix.Fstat(m.Descriptor(), &st); err != nil || st.Blocks*512 > 2*mirrorBytes {
		t.Errorf("it takes %d bytes, %v; want at most %d", st.Blocks*512, err, 2*mirrorBytes)
	}
	fd, err := unix.Dup(m.Descriptor())
	if err != nil {
		t.Fatal(err)
	}
	next, err := AdoptMirror(fd, lastOfEach)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	next.Append(numbered{Key: 3, Value: -1})
	want[3] = -1
	if got := values(t, next); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("who took it over has %v, want %v", got, want)
	}
}
