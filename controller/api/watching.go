package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// WatchOptions say what is watched, and how.
type WatchOptions struct {
	// Key restricts the watch to one workload, or, without a name, to a kind.
	Key spec.Key
	// Labels is a selector as in Kubernetes; empty for all.
	Labels string
	// Reconnect has the watch go on after the controller was restarted or
	// upgraded, until ctx is done. Of what has not changed meanwhile nothing is
	// told again; what has is MODIFIED or DELETED. Another BOOKMARK says that it
	// has caught up. Without it, or if the very first attempt fails, Watch returns.
	Reconnect bool
	// Lost is called, where it is set, when the controller does not answer any
	// more and another attempt will be made: once for each time.
	Lost func(error)
}

// The pauses between two attempts to connect again.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = time.Second
)

// Workload gives one workload. The error is a *Failure with code 404 where there
// is none.
func (c *Client) Workload(ctx context.Context, key spec.Key) (Object, error) {
	var o Object
	path, err := pathOf(key)
	if err != nil {
		return o, err
	}
	err = c.get(ctx, path, &o)
	return o, err
}

// ListOptions say what is listed; the zero value is everything.
type ListOptions struct {
	Kind spec.Kind
	// Labels is a selector as in Kubernetes; empty for all.
	Labels string
}

// List gives the workloads that are asked for, sorted by key.
func (c *Client) List(ctx context.Context, o ListOptions) ([]Object, error) {
	path, err := pathOf(spec.Key{Kind: o.Kind})
	if err != nil {
		return nil, err
	}
	var l List
	err = c.get(ctx, path+"?labelSelector="+url.QueryEscape(o.Labels), &l)
	return l.Items, err
}

// pathOf is where a workload, a kind, or everything is found.
func pathOf(key spec.Key) (string, error) {
	i := slices.IndexFunc(collections, func(c collection) bool { return c.kind == key.Kind })
	if i < 0 || key.Kind == "" && key.Name != "" {
		return "", fmt.Errorf("cannot ask for %s: there is no such kind", key)
	}
	path := Root + "/" + collections[i].path
	if key.Name != "" {
		path += "/" + url.PathEscape(key.Name)
	}
	return path, nil
}

// Watch gives the workloads that there are, each as an ADDED event, then a
// BOOKMARK, then every change as soon as it is known, until take returns an error,
// which Watch returns as it is, or ctx is done. Who takes slowly is told of several
// changes of a workload at once, and never misses the last. The error is ErrEnded
// when the controller ends the stream on purpose.
func (c *Client) Watch(ctx context.Context, o WatchOptions, take func(WatchEvent) error) error {
	path, err := pathOf(o.Key)
	if err != nil {
		return err
	}
	path += "?watch=true&labelSelector=" + url.QueryEscape(o.Labels)
	if !o.Reconnect {
		return follow(ctx, c, path, func(e WatchEvent) error {
			if e.Type == Failed && e.Failure != nil {
				return e.Failure
			}
			return take(e)
		})
	}
	w := &rewatch{take: take, known: map[spec.Key]told{}, seed: maphash.MakeSeed()}
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		err := follow(ctx, c, path, w.event)
		if w.over(ctx, err) {
			return err
		}
		if w.caughtUp {
			pause = firstRetry
			if o.Lost != nil {
				o.Lost(err)
			}
		}
		w.caughtUp, w.seen = false, map[spec.Key]bool{}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// rewatch is a watch over several connections, one after the other.
type rewatch struct {
	take  func(WatchEvent) error
	known map[spec.Key]told
	seed  maphash.Seed
	begun bool // the controller has answered once
	ended bool // take has had enough
	// caughtUp says that the present connection has told all that there was; until
	// then seen is what it has told of.
	caughtUp bool
	seen     map[spec.Key]bool
}

// told is what take was told last of a workload.
type told struct {
	object *Object
	sum    uint64 // of its encoding
}

// rawEvent is a WatchEvent whose object is not decoded yet.
type rawEvent struct {
	Type    string          `json:"type"`
	Object  json.RawMessage `json:"object"`
	Failure *Failure        `json:"failure"`
}

// over says that no other attempt is to be made after one that ended with err.
func (w *rewatch) over(ctx context.Context, err error) bool {
	var no *Failure
	refused := errors.As(err, &no) && no.Code < http.StatusInternalServerError && no.Code != http.StatusTooManyRequests
	return w.ended || ctx.Err() != nil || refused || !w.begun
}

// event tells take what it does not know yet.
func (w *rewatch) event(e rawEvent) error {
	w.begun = true
	switch {
	case e.Type == Failed && e.Failure != nil:
		return e.Failure
	case e.Type == Bookmark:
		return w.catchUp()
	}
	var o Object
	if err := json.Unmarshal(e.Object, &o); err != nil {
		return fmt.Errorf("cannot read the controller's answer: %w", err)
	}
	k := o.Key()
	if e.Type == Deleted {
		delete(w.known, k)
		return w.give(WatchEvent{Type: Deleted, Object: &o})
	}
	if !w.caughtUp && w.seen != nil {
		w.seen[k] = true
	}
	kind, sum := Added, maphash.Bytes(w.seed, e.Object)
	if before, ok := w.known[k]; ok {
		if kind = Modified; before.sum == sum {
			return nil
		}
	}
	w.known[k] = told{&o, sum}
	return w.give(WatchEvent{Type: kind, Object: &o})
}

// catchUp tells of what is gone since the last connection.
func (w *rewatch) catchUp() error {
	for k, before := range w.known {
		if w.seen == nil || w.seen[k] { // the first connection has seen all
			continue
		}
		delete(w.known, k)
		if err := w.give(WatchEvent{Type: Deleted, Object: before.object}); err != nil {
			return err
		}
	}
	w.caughtUp = true
	return w.give(WatchEvent{Type: Bookmark})
}

func (w *rewatch) give(e WatchEvent) error {
	err := w.take(e)
	w.ended = err != nil
	return err
}
