package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// The pauses between two attempts at a controller that gives no answer.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = 250 * time.Millisecond
)

// errSeen ends a watch: seen has had enough.
var errSeen = errors.New("seen")

// untilSeen tells of the workloads, sorted by key, and again whenever one of them
// has changed, until seen says that this was the last look. It is told what there
// is, or, again and again, why the controller gives no answer. What it is told is
// good until it returns. The error is that of ctx.
func untilSeen(ctx context.Context, client *api.Client, seen func([]api.Object, error) bool) error {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		w := watchOnce{client: client, seen: seen}
		err := w.run(ctx)
		switch {
		case errors.Is(err, errSeen):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && seen(nil, err):
			return nil
		case w.whole:
			pause = firstLook
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watchOnce is one connection of untilSeen.
type watchOnce struct {
	client *api.Client
	seen   func([]api.Object, error) bool
	all    []api.Object // what is known, sorted by key
	whole  bool         // that is all that there is
}

// run ends with errSeen, or with why there is no more to see. Where the controller
// has no watches, or no room for another one, it is one look, and nil is that all
// went well.
func (w *watchOnce) run(ctx context.Context) error {
	err := w.client.Watch(ctx, api.WatchOptions{}, w.take)
	if !refusedBecause(err, http.StatusTooManyRequests) && !refusedBecause(err, http.StatusNotImplemented) {
		return err
	}
	all, err := w.client.Workloads(ctx)
	if err == nil && w.seen(all, nil) {
		return errSeen
	}
	return err
}

func (w *watchOnce) take(e api.WatchEvent) error {
	w.all = updated(w.all, e)
	w.whole = w.whole || e.Type == api.Bookmark
	if w.whole && w.seen(w.all, nil) {
		return errSeen
	}
	return nil
}

// updated takes an event of a watch into what is known, which is sorted by key.
func updated(all []api.Object, e api.WatchEvent) []api.Object {
	if e.Object == nil {
		return all
	}
	i, known := slices.BinarySearchFunc(all, e.Object.Key(), func(o api.Object, k spec.Key) int { return o.Key().Compare(k) })
	switch {
	case e.Type == api.Deleted && known:
		return slices.Delete(all, i, i+1)
	case e.Type == api.Deleted:
		return all
	case known:
		all[i] = *e.Object
		return all
	}
	return slices.Insert(all, i, *e.Object)
}
