package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFollowGoesFromRunToRun(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "logs") // not there yet
	f := followAll(t, dir, Query{Tail: -1})
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 12 {
		w := newRun(t, dir, fmt.Sprintf("t%02d", i))
		for j := range 3 {
			w.say("line %d\n", j)
			want = append(want, fmt.Sprintf("t%02d: line %d", i, j))
			if j == i%3 {
				f.wants(strings.Join(want, "|"))
			}
		}
		w.say("last") // without an end
		want = append(want, fmt.Sprintf("t%02d: last", i))
		w.Close()
		if i%2 == 0 { // thinned out, before anybody may have looked
			if err := os.Remove(w.Name()); err != nil {
				t.Fatal(err)
			}
			f.wants(strings.Join(want, "|"))
		}
	}
	f.wants(strings.Join(want, "|"))
}

// A new instance may write before the old one has ended: one after the other all
// the same.
func TestFollowFinishesTheOldRunFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := newRun(t, dir, "t1")
	old.say("begins\n")
	f := followAll(t, dir, Query{Tail: -1, neglect: time.Hour})
	f.wants("t1: begins")
	next := newRun(t, dir, "t2")
	next.say("follows\n")
	old.say("ends\n")
	f.wants("t1: begins|t1: ends")
	old.Close()
	f.wants("t1: begins|t1: ends|t2: follows")
}

// What left the instance may hold the output open: it keeps nothing back, and is
// still shown.
func TestFollowDoesNotWaitForAStray(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := newRun(t, dir, "t1")
	old.say("begins\n")
	f := followAll(t, dir, Query{Tail: -1, neglect: time.Second})
	f.wants("t1: begins")
	newRun(t, dir, "t2").say("follows\n")
	f.wants("t1: begins|t2: follows")
	old.say("strays\n")
	f.wants("t1: begins|t2: follows|t1: strays")
}

func TestFollowAllMembersAtOnce(t *testing.T) {
	dir := t.TempDir()
	a, b := newRun(t, dir, "t1"), newRun(t, dir, "t2")
	a.say("a1\n")
	b.say("b1\n")
	f := followAll(t, dir, Query{Tail: -1, AllMembers: true})
	f.wants("t1: a1|t2: b1")
	a.say("a2\n")
	f.wants("t1: a1|t2: b1|t1: a2")
	c := newRun(t, dir, "t3")
	c.say("c1\n")
	f.wants("t1: a1|t2: b1|t1: a2|t3: c1")
	b.say("b2\n")
	f.wants("t1: a1|t2: b1|t1: a2|t3: c1|t2: b2")
}

func TestFollowTheNewestOfSeveral(t *testing.T) {
	dir := t.TempDir()
	newRun(t, dir, "t1").say("a1\n")
	b := newRun(t, dir, "t2")
	b.say("b1\nb2\nb3\n")
	f := followAll(t, dir, Query{Tail: 1})
	f.wants("t2: b3")
	b.say("b4\n")
	f.wants("t2: b3|t2: b4")
}

// A part of a line is shown once it is whole, once its run has ended, and when
// the following ends.
func TestFollowAndPartsOfLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newRun(t, dir, "t1")
	w.say("one\ntw")
	f := followAll(t, dir, Query{Tail: -1})
	f.wants("t1: one")
	w.say("o\nthr")
	f.wants("t1: one|t1: two")
	w.say("ee")
	w.Close()
	f.wants("t1: one|t1: two|t1: three")
	newRun(t, dir, "t2").say("four\nfive")
	f.wants("t1: one|t1: two|t1: three|t2: four")
	if err := f.stop(); err != nil {
		t.Error(err)
	}
	f.wants("t1: one|t1: two|t1: three|t2: four|t2: five")
}

// Somebody empties the file, as people do.
func TestFollowAFileThatIsEmptied(t *testing.T) {
	dir := t.TempDir()
	w := newRun(t, dir, "t1")
	w.say("one\ntwo\n")
	f := followAll(t, dir, Query{Tail: -1})
	f.wants("t1: one|t1: two")
	if err := os.Truncate(w.Name(), 0); err != nil {
		t.Fatal(err)
	}
	w.say("new\n")
	f.wants("t1: one|t1: two|t1: new")
}

// The way of file systems that cannot free the front of a file: everything moves.
func TestFollowAFileThatIsCut(t *testing.T) {
	dir := t.TempDir()
	w := newRun(t, dir, "t1")
	w.say("one\ntwo\nthr")
	f := followAll(t, dir, Query{Tail: -1})
	f.wants("t1: one|t1: two")
	r := NewRecorder(w.Name())
	err := r.Cut(4, func() error {
		if err := os.Truncate(w.Name(), 0); err != nil {
			return err
		}
		w.say("two\nthr")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.say("ee\nfour\n")
	f.wants("t1: one|t1: two|t1: three|t1: four")
	if got := all(t, dir, Query{Tail: -1}); strings.Join(got, " ") != "three four" {
		t.Errorf("what was cut begins in the middle of a line: %q", got)
	}
}
