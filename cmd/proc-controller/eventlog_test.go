package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/actuate/journal"
	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/controller/api"
)

func occurrence(n int) controller.Occurrence { return controller.Occurrence{Key: fmt.Sprint(n)} }

// eventJournal is one on the disk, with one event of a former controller.
func eventJournal(t *testing.T) *journal.Journal {
	t.Helper()
	path := filepath.Join(t.TempDir(), eventsFile)
	former := journal.Open(path, journal.Options{Log: logr.Discard()})
	former.Append(controller.Occurrence{Key: "former"})
	if err := former.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	j := journal.Open(path, journal.Options{Log: logr.Discard()})
	t.Cleanup(func() { j.Close(context.Background()) })
	return j
}

// TestFollowersMissNothingAndHearNothingTwice has followers come at any moment
// while events are written as fast as they can be.
func TestFollowersMissNothingAndHearNothingTwice(t *testing.T) {
	const all, followers = 5000, 10
	for name, file := range map[string]*journal.Journal{"disk": eventJournal(t), "memory": nil} {
		l := &eventLog{file: file}
		pace := make(chan struct{}) // lets a follower in at each fraction of the events
		var running sync.WaitGroup
		for range followers {
			running.Go(func() {
				<-pace
				got := []string{}
				take := func(o controller.Occurrence) { got = append(got, o.Key) }
				ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
				defer cancel()
				next, err := l.Past(ctx, take)
				for err == nil && next < all {
					var more []controller.Occurrence
					more, next, err = l.Next(ctx, next)
					for _, o := range more {
						take(o)
					}
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				checkSequence(t, name, got, all, file != nil)
			})
		}
		for n := range all {
			l.Append(occurrence(n))
			if n%(all/followers) == 0 {
				pace <- struct{}{}
			}
			if n%200 == 0 {
				<-time.After(time.Millisecond) // slow enough for nobody to fall behind
			}
		}
		running.Wait()
	}
}

// checkSequence wants each event once and in its order. Without a disk the oldest
// may be forgotten.
func checkSequence(t *testing.T, name string, got []string, all int, whole bool) {
	t.Helper()
	if whole {
		if len(got) == 0 || got[0] != "former" {
			t.Errorf("%s: what the former controller wrote is missing", name)
			return
		}
		got = got[1:]
	}
	if whole && len(got) != all || len(got) == 0 {
		t.Errorf("%s: heard %d events of %d", name, len(got), all)
	}
	for i, k := range got {
		if want := fmt.Sprint(all - len(got) + i); k != want {
			t.Errorf("%s: heard %s where %s should be", name, k, want)
			return
		}
	}
}

func TestWhoFallsBehindIsTold(t *testing.T) {
	l := &eventLog{}
	for n := range 10 * recentEvents {
		l.Append(occurrence(n))
	}
	if len(l.recent) > 2*recentEvents {
		t.Errorf("%d events in memory", len(l.recent))
	}
	if _, _, err := l.Next(t.Context(), 5); !errors.Is(err, api.ErrFellBehind) {
		t.Errorf("got %v", err)
	}
	found, next, err := l.Next(t.Context(), 10*recentEvents-1)
	if err != nil || len(found) != 1 || next != 10*recentEvents {
		t.Errorf("the newest: %v, %d, %v", found, next, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := l.Next(ctx, next); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing new: %v", err)
	}
}
