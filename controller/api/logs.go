package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// ErrNoLogs says that no output is kept of what was asked for.
var ErrNoLogs = errors.New("no output is kept")

// Logs tells what workloads have written. Its methods may be called from many
// goroutines.
type Logs interface {
	// Logs gives the lines that are asked for to take, the oldest first. It fails
	// with ErrNoLogs where there is no run of the kind asked for. Where it is to
	// follow it waits instead, calls idle whenever all that there is was given,
	// and ends with ctx, without an error. An error of take ends it and is
	// returned as it is.
	Logs(ctx context.Context, key spec.Key, q LogQuery, idle func(), take func(LogLine) error) error
	// Kept says whether any output of a workload is kept: that of one which is
	// wanted no more is there for some time.
	Kept(key spec.Key) bool
}

// LogQuery says which lines are asked for.
type LogQuery struct {
	// Follow goes on with what is written, and with the next instance where one
	// takes the place of the last.
	Follow bool
	// Tail is how many of the last lines of each run are given; -1 is all.
	Tail int
	// Since leaves out what was written before; the zero time leaves out nothing.
	Since time.Time
	// Previous asks for the run before the present one.
	Previous bool
	// Timestamps asks for the time of each line.
	Timestamps bool
	// AllMembers asks for every instance that runs, not for the newest alone.
	AllMembers bool
}

// LogLine is one line of output, or a piece of a very long one.
type LogLine struct {
	// Instance is who wrote it: the random part of its name, its Token.
	Instance spec.Instance `json:"instance"`
	// Time is about when it was written, a second too late at most as a rule:
	// nobody stamps the lines. It is zero where it is not known or was not asked
	// for.
	Time time.Time `json:"time,omitzero"`
	// Text is the line without its end. What is no UTF-8 has become U+FFFD.
	Text string `json:"text"`
	// More says that the line goes on in the next one of the same instance.
	More bool `json:"more,omitempty"`
	// Skipped is how many bytes before this line were freed before they could be
	// read.
	Skipped int64 `json:"skipped,omitempty"`
	// Failure is why no more can be told; the rest is empty then.
	Failure *Failure `json:"failure,omitempty"`
}

func (h *handler) logRoutes() []route {
	return describe(operation{
		summary: "What a workload has written: a stream of lines, the oldest first.",
		query: []parameter{
			{"follow", false, "go on with what is written, also by the next instance"},
			{"tail", -1, "only the last lines of each run, as many; all without it"},
			{"since", time.Time{}, "only what was written since"},
			{"previous", false, "the run before the present one"},
			{"timestamps", false, "tell about when each line was written"},
			{"allMembers", false, "every instance that runs, not the newest alone"},
		},
		line: LogLine{},
	}, h.each(http.MethodGet, "/logs", h.logs))
}

// logQuery reads the query, and answers for a bad one.
func logQuery(w http.ResponseWriter, r *http.Request) (q LogQuery, ok bool) {
	q.Tail = -1
	for name, into := range map[string]*bool{
		"follow": &q.Follow, "previous": &q.Previous, "timestamps": &q.Timestamps, "allMembers": &q.AllMembers,
	} {
		if *into, ok = flag(w, r, name); !ok {
			return q, false
		}
	}
	var err error
	if text := r.FormValue("tail"); text != "" {
		if q.Tail, err = strconv.Atoi(text); err != nil || q.Tail < -1 {
			writeFailure(w, failure(http.StatusBadRequest, "bad tail %q: write a number, or -1 for all", text))
			return q, false
		}
	}
	if text := r.FormValue("since"); text != "" {
		if q.Since, err = time.Parse(time.RFC3339, text); err != nil {
			writeFailure(w, failure(http.StatusBadRequest, "bad since %q: write a time as in 2006-01-02T15:04:05Z", text))
			return q, false
		}
	}
	return q, true
}

func (h *handler) logs(w http.ResponseWriter, r *http.Request, key spec.Key) {
	q, ok := logQuery(w, r)
	if !ok {
		return
	}
	if h.Logs == nil {
		writeFailure(w, failure(http.StatusNotImplemented, "this controller keeps no output: it runs without a state directory"))
		return
	}
	if !h.Logs.Kept(key) && !h.knows(w, r, key) {
		return
	}
	st, ok := h.openStream(w, r)
	if !ok {
		return
	}
	defer st.close()
	idle := func() { _ = st.flush() } // the next line tells
	err := h.Logs.Logs(st.ctx, key, q, idle, func(l LogLine) error { return st.enc.Encode(l) })
	switch {
	case errors.Is(err, ErrNoLogs) && q.Previous:
		writeFailure(w, failure(http.StatusNotFound, "no former run of %v is kept", key))
		return
	case err == nil, errors.Is(err, ErrNoLogs):
	default:
		_ = st.enc.Encode(LogLine{Failure: failure(http.StatusServiceUnavailable, "no more lines: %v", err)})
	}
	_ = st.flush() // the peer is gone: nobody is left to tell
}

// knows says whether there is such a workload, and answers where there is none.
func (h *handler) knows(w http.ResponseWriter, r *http.Request, key spec.Key) bool {
	v, ok := h.view(w, r)
	if !ok {
		return false
	}
	for i := range v.Workloads {
		if v.Workloads[i].Key == key {
			return true
		}
	}
	writeFailure(w, noWorkload(key))
	return false
}

// Logs gives what a workload has written to take, the oldest first, until there
// is no more or, where it is followed, until ctx is done. An error of take ends
// it and is returned as it is; ErrEnded says that the controller ends a stream
// that is followed on purpose.
func (c *Client) Logs(ctx context.Context, key spec.Key, q LogQuery, take func(LogLine) error) error {
	path, err := pathOf(key)
	if err != nil {
		return err
	}
	err = follow(ctx, c, path+"/logs?"+q.encode(), func(l LogLine) error {
		if l.Failure != nil {
			return l.Failure
		}
		return take(l)
	})
	if errors.Is(err, ErrEnded) && !q.Follow {
		return nil
	}
	return err
}

// encode writes the query as logQuery reads it.
func (q *LogQuery) encode() string {
	v := url.Values{"tail": {strconv.Itoa(q.Tail)}}
	for name, set := range map[string]bool{
		"follow": q.Follow, "previous": q.Previous, "timestamps": q.Timestamps, "allMembers": q.AllMembers,
	} {
		if set {
			v.Set(name, "true")
		}
	}
	if !q.Since.IsZero() {
		v.Set("since", q.Since.Format(time.RFC3339Nano))
	}
	return v.Encode()
}
