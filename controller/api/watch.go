package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/spec"
)

// The types of a WatchEvent.
const (
	Added    = "ADDED"
	Modified = "MODIFIED"
	Deleted  = "DELETED"
	// Bookmark says that all there was at the start has been told.
	Bookmark = "BOOKMARK"
	// Failed is the last event of a watch that cannot go on.
	Failed = "ERROR"
)

// WatchEvent is one line of a watch, as in Kubernetes.
type WatchEvent struct {
	Type string `json:"type"`
	// Object is the workload; of one that is gone, as it was told of last. Nil in
	// a Bookmark.
	Object *Object `json:"object,omitempty"`
	// Failure is why the watch cannot go on; of type ERROR alone.
	Failure *Failure `json:"failure,omitempty"`
}

// selection says which workloads are meant.
type selection struct {
	key    spec.Key // without a name all of the kind, without a kind all
	labels labels.Selector
}

// selectionParameters are the parameters of a list, and of a watch in its place.
var selectionParameters = []parameter{
	{"labelSelector", "", "only workloads whose labels match, as in Kubernetes: team=dev,tier!=test"},
	{"watch", false, "instead of a list, a stream of what there is (ADDED), a BOOKMARK, and then each change"},
}

// selectionOf reads the query, and answers for a bad one.
func selectionOf(w http.ResponseWriter, r *http.Request, key spec.Key) (selection, bool) {
	s := selection{key: key}
	selector, err := labels.Parse(r.FormValue("labelSelector"))
	if err != nil {
		writeFailure(w, failure(http.StatusBadRequest, "bad labelSelector: %v", err))
		return s, false
	}
	s.labels = selector
	return s, true
}

// takes says whether a workload is meant.
func (s *selection) takes(key spec.Key, with map[string]string) bool {
	return (s.key.Kind == "" || s.key.Kind == key.Kind) && (s.key.Name == "" || s.key.Name == key.Name) &&
		(s.labels.Empty() || s.labels.Matches(labels.Set(with)))
}

// flag reads a parameter that is true or false, and answers for a bad one.
func flag(w http.ResponseWriter, r *http.Request, name string) (value, ok bool) {
	text := r.FormValue(name)
	if text == "" {
		return false, true
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		writeFailure(w, failure(http.StatusBadRequest, "bad %s %q: write true or false", name, text))
	}
	return value, err == nil
}

// watching serves a watch where one is asked for. It says whether it did.
func (h *handler) watching(w http.ResponseWriter, r *http.Request, key spec.Key) (done bool) {
	watch, ok := flag(w, r, "watch")
	if !ok || !watch {
		return !ok
	}
	if h.Changes == nil {
		writeFailure(w, failure(http.StatusNotImplemented, "this controller has no watches"))
		return true
	}
	if which, ok := selectionOf(w, r, key); ok {
		h.watch(w, r, which)
	}
	return true
}

func (h *handler) watch(w http.ResponseWriter, r *http.Request, which selection) {
	h.world.join()
	defer h.world.leave()
	first, err := h.world.latest(r.Context())
	if err != nil {
		writeFailure(w, unanswered(err))
		return
	}
	st, ok := h.openStream(w, r)
	if !ok {
		return
	}
	defer st.close()
	wt := watcher{stream: st, which: which, sent: map[spec.Key]*row{}}
	if wt.tell(first) != nil || st.enc.Encode(WatchEvent{Type: Bookmark}) != nil {
		return
	}
	wt.follow(h.world, first)
}

// watcher is one stream. It remembers what it has sent last, and sends what is
// other than that: a peer that reads slowly costs no more memory, and is told
// once of what has changed several times.
type watcher struct {
	*stream
	which selection
	sent  map[spec.Key]*row
}

// follow ends with the stream, the controller, or the peer.
func (w *watcher) follow(world *snapshots, now *snapshot) {
	for {
		if w.flush() != nil {
			return
		}
		next, err := world.after(w.ctx, now)
		switch {
		case w.ctx.Err() != nil, errors.Is(err, controller.ErrStopped):
			return // the end of the answer says all there is to say
		case err != nil:
			if w.enc.Encode(WatchEvent{Type: Failed, Failure: unanswered(err)}) == nil {
				_ = w.flush() // the peer is gone: nobody is left to tell
			}
			return
		}
		if w.tell(next) != nil {
			return
		}
		now = next
	}
}

// tell sends what is other than was sent before.
func (w *watcher) tell(now *snapshot) error {
	present := make(map[spec.Key]bool, len(w.sent))
	for _, r := range now.rows {
		k := r.object.Key()
		if !w.which.takes(k, r.object.Metadata.Labels) {
			continue
		}
		present[k] = true
		before := w.sent[k]
		if before == r {
			continue
		}
		kind := Modified
		if before == nil {
			kind = Added
		}
		w.sent[k] = r
		if err := w.say(kind, r); err != nil {
			return err
		}
	}
	for k, r := range w.sent {
		if present[k] {
			continue
		}
		delete(w.sent, k)
		if err := w.say(Deleted, r); err != nil {
			return err
		}
	}
	return nil
}

// say sends an event. The object is encoded once for all watchers.
func (w *watcher) say(kind string, r *row) error {
	for _, part := range [][]byte{[]byte(`{"type":"` + kind + `","object":`), r.line(), []byte("}\n")} {
		if _, err := w.buf.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// unanswered is the failure of a question to the loop.
func unanswered(err error) *Failure {
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("it was busy for too long")
	}
	return failure(http.StatusServiceUnavailable, "the controller gave no answer: %v", err)
}
