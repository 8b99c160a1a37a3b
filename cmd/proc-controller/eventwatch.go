package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/controller/api"
)

// The pauses between two attempts to reach a controller that has gone.
const (
	firstReconnect = 50 * time.Millisecond
	lastReconnect  = time.Second
)

// watchEvents shows what has happened and what happens, until it is interrupted.
func watchEvents(ctx context.Context, std streams, at *placeFlags, want selectors, f *eventsFlags) error {
	client, p, err := at.client()
	if err != nil {
		return err
	}
	w := &eventWatch{std: std, want: want, from: f.from(), json: f.output == "json", table: eventTable(), told: map[[sha256.Size]byte]time.Time{}, kept: minKept}
	w.table.width = []int{len(eventTime), 20, 13}
	found := []controller.Occurrence{}
	began := time.Now()
	err = client.Events(ctx, w.query(w.from, false), func(o controller.Occurrence) error {
		if w.isNew(&o) && want.asksFor(o.Key) {
			found = append(found, o)
		}
		return nil
	})
	if err != nil {
		return p.explain(err)
	}
	if err := w.show(f.newest(found)...); err != nil {
		return err
	}
	if w.last.IsZero() {
		w.last = began
	}
	return w.follow(ctx, client)
}

// eventWatch shows events as they come, over one connection after the other.
type eventWatch struct {
	std   streams
	want  selectors
	from  time.Time // nothing before it is asked for
	json  bool
	table *table
	// last is the time of the newest event, told what was told of the time before
	// it: a new connection begins there, since events do not come in the order of
	// their times alone.
	last time.Time
	told map[[sha256.Size]byte]time.Time
	kept int // how many there were when old ones were dropped
}

// overlap is how far a new connection reaches back.
const overlap = 10 * time.Second

// query asks for the one workload or kind, if it is one.
func (w *eventWatch) query(since time.Time, follow bool) api.EventQuery {
	q := api.EventQuery{Since: since, Follow: follow}
	if len(w.want) == 1 {
		q.Key = w.want[0]
	}
	return q
}

// follow goes on from the newest event, again and again.
func (w *eventWatch) follow(ctx context.Context, client *api.Client) error {
	for {
		since := w.last.Add(-overlap)
		if since.Before(w.from) {
			since = w.from
		}
		err := client.Events(ctx, w.query(since, true), func(o controller.Occurrence) error {
			if !w.isNew(&o) || !w.want.asksFor(o.Key) {
				return nil
			}
			return w.show(o)
		})
		_, broken := errors.AsType[*writeError](err)
		no, refused := errors.AsType[*api.Failure](err)
		switch {
		case broken, ctx.Err() != nil, refused && no.Code != http.StatusServiceUnavailable:
			return err
		case !refused: // else it has much to do, and we were slow
			fmt.Fprintln(w.std.err, "note: the controller does not answer; waiting for it")
		}
		if err := awaitAnswer(ctx, client); err != nil {
			return err
		}
		if !refused {
			fmt.Fprintln(w.std.err, "note: the controller answers again")
		}
	}
}

// awaitAnswer waits until the controller answers.
func awaitAnswer(ctx context.Context, client *api.Client) error {
	for pause := firstReconnect; ; pause = min(2*pause, lastReconnect) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		if _, err := client.Controller(ctx); err == nil {
			return nil
		}
	}
}

// isNew says that an event has not been told of.
func (w *eventWatch) isNew(o *controller.Occurrence) bool {
	if o.Time.After(w.last) {
		w.last = o.Time
	}
	line, err := json.Marshal(o)
	if err != nil {
		return true
	}
	sum := sha256.Sum256(line)
	if _, is := w.told[sum]; is {
		return false
	}
	w.told[sum] = o.Time
	if len(w.told) >= 2*w.kept {
		maps.DeleteFunc(w.told, func(_ [sha256.Size]byte, at time.Time) bool { return at.Before(w.last.Add(-2 * overlap)) })
		w.kept = max(len(w.told), minKept)
	}
	return true
}

// minKept is how many events are remembered at least before old ones are dropped.
const minKept = 1024

// writeError is an event that could not be written.
type writeError struct{ cause error }

func (e *writeError) Error() string { return fmt.Sprintf("cannot write: %v", e.cause) }

// Unwrap gives the cause: a reader that has gone is none to speak of.
func (e *writeError) Unwrap() error { return e.cause }

// show writes events: rows of one table, or a line of JSON each.
func (w *eventWatch) show(found ...controller.Occurrence) error {
	for i := range found {
		if !w.json {
			w.table.add(eventRow(&found[i])...)
			continue
		}
		enc := json.NewEncoder(w.std.out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(&found[i]); err != nil {
			return &writeError{err}
		}
	}
	if w.json {
		return nil
	}
	if err := w.table.write(w.std.out); err != nil {
		return &writeError{err}
	}
	return nil
}
