package main

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/proc-controller/proc-controller/actuate/journal"
	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/controller/api"
)

// recentEvents is how many events are kept in memory at least, for who follows
// them: as far as one may fall behind.
const recentEvents = 1024

// mostEvents bounds what is kept while somebody reads the disk.
const mostEvents = 16 * recentEvents

// eventLog is the event log: on the disk, where there is one, and the newest in
// memory. Events are numbered from 0 in the order in which they are appended,
// there and here alike. It is a controller.Journal and an api.EventLog.
type eventLog struct {
	file *journal.Journal // nil where there is no state directory

	mu     sync.Mutex
	recent []controller.Occurrence
	next   uint64 // the number of the event to come
	// reading counts who reads the disk: what happens meanwhile is kept for them.
	reading int
	news    chan struct{} // closed by the next event; nil while nobody waits
}

// Append takes an Occurrence, and waits for nobody.
func (l *eventLog) Append(record any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Append(record) // under the lock: both count alike
	}
	o, _ := record.(controller.Occurrence)
	if n := len(l.recent); l.reading == 0 && n >= 2*recentEvents || n >= mostEvents {
		l.recent = slices.Delete(l.recent, 0, n-recentEvents)
	}
	l.recent = append(l.recent, o)
	l.next++
	if l.news != nil {
		close(l.news)
		l.news = nil
	}
}

// Past gives what is on the disk, and what is in memory alone.
func (l *eventLog) Past(ctx context.Context, take func(controller.Occurrence)) (uint64, error) {
	l.read(1)
	defer l.read(-1)
	next, err := l.onDisk(ctx, take)
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		next = l.firstLocked()
	}
	if next < l.firstLocked() {
		return 0, api.ErrFellBehind
	}
	for _, o := range l.afterLocked(next) {
		take(o)
	}
	return l.next, nil
}

// onDisk gives what is on the disk.
func (l *eventLog) onDisk(ctx context.Context, take func(controller.Occurrence)) (next uint64, err error) {
	if l.file == nil {
		return 0, nil
	}
	return l.file.Read(ctx, func(line []byte) error {
		var o controller.Occurrence
		err := json.Unmarshal(line, &o)
		if err == nil {
			take(o)
		}
		return err
	})
}

func (l *eventLog) read(more int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reading += more
}

// Next gives what has happened from number on, and waits for something to happen
// where nothing has.
func (l *eventLog) Next(ctx context.Context, number uint64) ([]controller.Occurrence, uint64, error) {
	for {
		l.mu.Lock()
		if number < l.firstLocked() {
			l.mu.Unlock()
			return nil, 0, api.ErrFellBehind
		}
		found, next, news := slices.Clone(l.afterLocked(number)), l.next, l.awaitLocked()
		l.mu.Unlock()
		if len(found) > 0 {
			return found, next, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

// firstLocked is the number of the oldest event in memory.
func (l *eventLog) firstLocked() uint64 { return l.next - uint64(len(l.recent)) }

// afterLocked gives the events from a number on that is not before the first.
func (l *eventLog) afterLocked(number uint64) []controller.Occurrence {
	return l.recent[min(number-l.firstLocked(), uint64(len(l.recent))):]
}

func (l *eventLog) awaitLocked() <-chan struct{} {
	if l.news == nil {
		l.news = make(chan struct{})
	}
	return l.news
}
