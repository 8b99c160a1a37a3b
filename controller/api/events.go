package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/spec"
)

// EventLog tells what has happened. Its methods may be called from many
// goroutines. Between what Past gives and what Next gives from there on, nothing
// is missing and nothing is there twice.
type EventLog interface {
	// Past gives each event that is kept to take, the oldest first, and returns
	// where Next goes on. Take must be quick.
	Past(ctx context.Context, take func(controller.Occurrence)) (next uint64, err error)
	// Next gives the events from a position on, and the position after them. It
	// waits until there is one. The error is ErrFellBehind where they are not in
	// memory any more, or that of ctx.
	Next(ctx context.Context, from uint64) (found []controller.Occurrence, next uint64, err error)
}

// EventList is what has happened, the oldest first.
type EventList struct {
	APIVersion string                  `json:"apiVersion"`
	Kind       string                  `json:"kind"`
	Metadata   struct{}                `json:"metadata"`
	Items      []controller.Occurrence `json:"items"`
}

// EventLine is one line of events that are followed.
type EventLine struct {
	controller.Occurrence
	// Failure is why no more can be told; the rest is empty then.
	Failure *Failure `json:"failure,omitempty"`
}

// EventQuery says which events are asked for.
type EventQuery struct {
	// Key restricts them to one workload, or, without a name, to a kind.
	Key spec.Key
	// Since leaves out what happened before; the zero time leaves out nothing.
	Since time.Time
	// Limit is how many of those that are kept are given at most: the newest. Zero
	// is all of them.
	Limit int
	// Follow goes on with what happens from then on.
	Follow bool
}

// eventsPath is where they are asked for.
const eventsPath = Root + "/events"

func (h *handler) eventRoutes() []route {
	return []route{{http.MethodGet, eventsPath, h.events, operation{
		summary: "What has happened, the oldest first: a list, or a stream that goes on.",
		query: []parameter{
			{"workload", "", "only events of this one: KIND/NAME; or of a kind: KIND"},
			{"since", time.Time{}, "only what has happened since"},
			{"limit", 0, "of those that are kept only the newest, as many"},
			{"follow", false, "instead of a list, a stream that goes on with what happens"},
		},
		answer: EventList{}, line: EventLine{},
	}}}
}

// takes says whether an event is asked for.
func (q *EventQuery) takes(o *controller.Occurrence) bool {
	if o.Time.Before(q.Since) {
		return false
	}
	if q.Key.Kind == "" {
		return true
	}
	kind, name, _ := strings.Cut(o.Key, "/")
	return kind == string(q.Key.Kind) && (q.Key.Name == "" || name == q.Key.Name)
}

// eventQuery reads the query, and answers for a bad one.
func eventQuery(w http.ResponseWriter, r *http.Request) (q EventQuery, ok bool) {
	refuse := func(what string, err error) (EventQuery, bool) {
		writeFailure(w, failure(http.StatusBadRequest, "bad %s %q: %v", what, r.FormValue(what), err))
		return q, false
	}
	var err error
	if text := r.FormValue("workload"); text != "" {
		if strings.Contains(text, "/") {
			q.Key, err = spec.ParseKey(text)
		} else {
			q.Key.Kind, err = spec.ParseKind(text)
		}
		if err != nil {
			return refuse("workload", err)
		}
	}
	if text := r.FormValue("since"); text != "" {
		if q.Since, err = time.Parse(time.RFC3339, text); err != nil {
			return refuse("since", errors.New("write a time as in 2006-01-02T15:04:05Z"))
		}
	}
	if text := r.FormValue("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 0 {
			return refuse("limit", errors.New("write a number, or 0 for all"))
		}
	}
	q.Follow, ok = flag(w, r, "follow")
	return q, ok
}

func (h *handler) events(w http.ResponseWriter, r *http.Request) {
	q, ok := eventQuery(w, r)
	if !ok {
		return
	}
	if h.Events == nil {
		writeFailure(w, failure(http.StatusNotImplemented, "this controller keeps no events"))
		return
	}
	past, next, err := h.past(r.Context(), &q)
	switch {
	case err != nil:
		writeFailure(w, failure(http.StatusServiceUnavailable, "cannot read the events: %v", err))
	case q.Follow:
		h.followEvents(w, r, &q, past, next)
	default:
		writeJSON(w, http.StatusOK, EventList{APIVersion: spec.APIVersion, Kind: "EventList", Items: past})
	}
}

// past gives what is asked for of that which is kept.
func (h *handler) past(ctx context.Context, q *EventQuery) (past []controller.Occurrence, next uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, viewTimeout)
	defer cancel()
	past = []controller.Occurrence{}
	next, err = h.Events.Past(ctx, func(o controller.Occurrence) {
		if !q.takes(&o) {
			return
		}
		if q.Limit > 0 && len(past) >= 2*q.Limit {
			past = append(past[:0], past[len(past)-q.Limit+1:]...)
		}
		past = append(past, o)
	})
	if q.Limit > 0 {
		past = past[max(0, len(past)-q.Limit):]
	}
	return past, next, err
}

func (h *handler) followEvents(w http.ResponseWriter, r *http.Request, q *EventQuery, found []controller.Occurrence, next uint64) {
	st, ok := h.openStream(w, r)
	if !ok {
		return
	}
	defer st.close()
	for {
		for i := range found {
			if q.takes(&found[i]) && st.enc.Encode(&found[i]) != nil {
				return
			}
		}
		var err error
		if err = st.flush(); err != nil {
			return
		}
		if found, next, err = h.Events.Next(st.ctx, next); err == nil {
			continue
		}
		if st.ctx.Err() == nil && st.enc.Encode(EventLine{Failure: failure(http.StatusServiceUnavailable, "no more events: %v", err)}) == nil {
			_ = st.flush() // the peer is gone: nobody is left to tell
		}
		return
	}
}

// Events gives what has happened to take, the oldest first, until there is no
// more or, where it is followed, until ctx is done. An error of take ends it and
// is returned as it is; ErrEnded says that the controller ends the stream on
// purpose. Of what is kept and what happens afterwards nothing is missing and
// nothing comes twice.
func (c *Client) Events(ctx context.Context, q EventQuery, take func(controller.Occurrence) error) error {
	path := eventsPath + "?" + q.encode()
	if q.Follow {
		return follow(ctx, c, path, func(l EventLine) error {
			if l.Failure != nil {
				return l.Failure
			}
			return take(l.Occurrence)
		})
	}
	var list EventList
	if err := c.get(ctx, path, &list); err != nil {
		return err
	}
	for _, o := range list.Items {
		if err := take(o); err != nil {
			return err
		}
	}
	return nil
}

// encode writes the query as eventQuery reads it.
func (q *EventQuery) encode() string {
	v := url.Values{}
	if q.Key.Kind != "" {
		v.Set("workload", strings.TrimSuffix(q.Key.String(), "/"))
	}
	if !q.Since.IsZero() {
		v.Set("since", q.Since.Format(time.RFC3339Nano))
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Follow {
		v.Set("follow", "true")
	}
	return v.Encode()
}
