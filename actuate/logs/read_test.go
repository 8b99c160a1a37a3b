package logs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/spec"
)

func TestReadTailAndSince(t *testing.T) {
	dir := t.TempDir()
	w := newRun(t, dir, "t1")
	r := NewRecorder(w.Name())
	now := time.Now()
	w.say("one\ntwo\nthr")
	w.mark(r, now.Add(-time.Hour))
	w.say("ee\nfour\n")
	w.mark(r, now.Add(-time.Minute))
	w.say("five")
	for name, tc := range map[string]struct {
		q    Query
		want string
	}{
		"all":                  {Query{Tail: -1}, "one two three four five"},
		"the last two":         {Query{Tail: 2}, "four five"},
		"the last none":        {Query{Tail: 0}, ""},
		"more than there are":  {Query{Tail: 9}, "one two three four five"},
		"ten minutes":          {Query{Tail: -1, Since: now.Add(-10 * time.Minute)}, "four five"},
		"ten minutes, the end": {Query{Tail: 1, Since: now.Add(-10 * time.Minute)}, "five"},
		"two hours":            {Query{Tail: -1, Since: now.Add(-2 * time.Hour)}, "one two three four five"},
		"what is to come":      {Query{Tail: -1, Since: now.Add(time.Hour)}, ""},
	} {
		if got := strings.Join(all(t, dir, tc.q), " "); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	var times []string
	err := Read(t.Context(), dir, key, Query{Tail: -1}, func(l Line) error {
		times = append(times, now.Sub(l.Time).Round(time.Minute).String())
		return nil
	})
	if diff := cmp.Diff([]string{"1h0m0s", "1h0m0s", "1h0m0s", "1m0s", "0s"}, times); diff != "" || err != nil {
		t.Errorf("%v; ages (-want +got):\n%s", err, diff)
	}
}

// Without times what is not provably older is shown.
func TestSinceWithoutTimes(t *testing.T) {
	dir := t.TempDir()
	w := newRun(t, dir, "t1")
	w.say("one\n")
	if got := all(t, dir, Query{Tail: -1, Since: time.Now().Add(-time.Hour)}); len(got) != 1 {
		t.Errorf("%q", got)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(w.Name(), old, old); err != nil {
		t.Fatal(err)
	}
	if got := all(t, dir, Query{Tail: -1, Since: time.Now().Add(-time.Hour)}); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func TestHugeLinesAndGarbage(t *testing.T) {
	dir := t.TempDir()
	w := newRun(t, dir, "t1")
	huge := strings.Repeat("0123456789", 5<<20)
	w.say("before\n%s\nafter\xff\x00\r\n", huge)
	got := all(t, dir, Query{Tail: -1})
	if len(got) != 3 || got[0] != "before" || got[1] != huge || got[2] != "after\xff\x00\r" {
		t.Errorf("%d lines", len(got))
	}
	if got = all(t, dir, Query{Tail: 2}); len(got) != 2 || got[0] != huge {
		t.Errorf("of the last two: %d lines", len(got))
	}
}

func TestPreviousAndAllMembers(t *testing.T) {
	dir := t.TempDir()
	none := func(what string, q Query) {
		t.Helper()
		err := Read(t.Context(), dir, key, q, func(Line) error { return nil })
		if !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", what, err)
		}
	}
	none("nothing at all", Query{Tail: -1})
	for i := range 4 {
		w := newRun(t, dir, fmt.Sprintf("t%d", i))
		w.say("run %d\n", i)
		if i < 2 {
			w.Close()
		}
		if i == 0 {
			none("before the first", Query{Tail: -1, Previous: true})
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "Agent.a2.x.log"), []byte("another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		q    Query
		want string
	}{
		{Query{Tail: -1}, "run 3"},
		{Query{Tail: -1, AllMembers: true}, "run 2 run 3"},
		{Query{Tail: -1, Previous: true}, "run 1"},
	} {
		if got := strings.Join(all(t, dir, tc.q), " "); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.q, got, tc.want)
		}
	}
	if n := Writing(dir, key); n != 2 {
		t.Errorf("%d run", n)
	}
	want := []spec.Key{key, {Kind: spec.KindAgent, Name: "a2"}}
	if diff := cmp.Diff(want, Known(dir)); diff != "" {
		t.Error(diff)
	}
}

// A reader that wants no more is asked for no more, also in the middle of a
// flood.
func TestReadEndsWithItsReader(t *testing.T) {
	dir := t.TempDir()
	newRun(t, dir, "t1").say("%s", strings.Repeat("line\n", 1000))
	enough, n := errors.New("enough"), 0
	give := func(Line) error {
		if n++; n == 3 {
			return enough
		}
		return nil
	}
	if err := Read(t.Context(), dir, key, Query{Tail: -1}, give); !errors.Is(err, enough) || n != 3 {
		t.Errorf("%v after %d", err, n)
	}
	n = 0
	if err := Read(t.Context(), dir, key, Query{Tail: -1, Follow: true}, give); !errors.Is(err, enough) || n != 3 {
		t.Errorf("following: %v after %d", err, n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Read(ctx, dir, key, Query{Tail: -1}, func(Line) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
