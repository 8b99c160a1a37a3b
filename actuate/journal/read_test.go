package journal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// read gives the numbers of all records, and the next one's.
func read(t *testing.T, j *Journal) (got []int, next uint64) {
	t.Helper()
	next, err := j.Read(t.Context(), func(line []byte) error {
		var r record
		err := json.Unmarshal(line, &r)
		got = append(got, r.N)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, next
}

// TestReadCountsWhatItGives reads while others append: what is read are the first
// records and no others, as many as it says.
func TestReadCountsWhatItGives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	j := Open(path, Options{Log: logr.Discard()})
	defer closeNow(t, j)
	var appending sync.WaitGroup
	appending.Go(func() {
		for n := range 3000 {
			j.Append(record{N: n})
		}
	})
	for range 20 {
		got, next := read(t, j)
		if uint64(len(got)) != next {
			t.Fatalf("%d records were read, and %d is the next", len(got), next)
		}
		for i, n := range got {
			if n != i {
				t.Fatalf("record %d is number %d", i, n)
			}
		}
	}
	appending.Wait()
	if got, next := read(t, j); len(got) != 3000 || next != 3000 {
		t.Errorf("%d records in the end, next %d", len(got), next)
	}
}

func TestReadKnowsWhatWasThereBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	former := Open(path, Options{Log: logr.Discard()})
	former.Append(record{N: 7})
	closeNow(t, former)
	j := Open(path, Options{Log: logr.Discard()})
	if got, next := read(t, j); len(got) != 1 || next != 0 {
		t.Errorf("%v, next %d", got, next)
	}
	j.Append(record{N: 8})
	closeNow(t, j)
	if got, next := read(t, j); len(got) != 2 || next != 1 {
		t.Errorf("after the end: %v, next %d", got, next)
	}
}

// TestReadDoesNotCountWhatTheDiskRefused: it is not in the file yet.
func TestReadDoesNotCountWhatTheDiskRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the directory should be
		t.Fatal(err)
	}
	j := Open(filepath.Join(dir, "events.jsonl"), Options{Log: logr.Discard(), retry: 2 * time.Millisecond})
	defer closeNow(t, j)
	j.Append(record{N: 0})
	eventually(t, "the disk refuses", func() bool { return j.Failure() != nil })
	j.Append(record{N: 1})
	next, err := j.Read(t.Context(), func([]byte) error { t.Error("there is a line"); return nil })
	if next != 0 {
		t.Errorf("next %d (%v), want 0: nothing is written", next, err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the disk takes it", func() bool { return j.Failure() == nil })
	if got, next := read(t, j); len(got) != 2 || next != 2 {
		t.Errorf("%v, next %d", got, next)
	}
}
