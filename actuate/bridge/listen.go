package bridge

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// listener is a modern client's stream of notifications: the changes that it has asked
// for, each with the id of the request that it did it with.
type listener struct {
	id     json.RawMessage
	stream *stream
	wants  map[string]bool // notifications of changed lists
	uris   []string

	mu    sync.Mutex
	open  bool
	early [][]byte // what came before it was open
}

// maxEarly bounds that.
const maxEarly = 64

func (*listener) logLevel() string { return "" }

func (l *listener) event(e *event) {
	wanted := l.wants[e.method]
	if e.method == noteUpdated {
		for _, uri := range l.uris {
			wanted = wanted || e.about(uri)
		}
	}
	if !wanted {
		return
	}
	params := rpc.Set(e.params, l.id, "_meta", metaSubscription)
	line := rpc.Message{Method: e.method, Params: params}.Bytes()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open {
		l.stream.put(line)
	} else if len(l.early) < maxEarly {
		l.early = append(l.early, line)
	}
}

// acknowledge opens the stream: it begins with what is listened to.
func (l *listener) acknowledge(filter json.RawMessage) {
	params := rpc.Set(nil, l.id, "_meta", metaSubscription)
	params = rpc.Set(params, filter, "notifications")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream.put(rpc.Message{Method: noteAcknowledged, Params: params}.Bytes())
	for _, line := range l.early {
		l.stream.put(line)
	}
	l.early, l.open = nil, true
}

// finish ends the stream as one that has ended well.
func (l *listener) finish(pr *profile) {
	result := rpc.Set(json.RawMessage(`{"resultType":"complete"}`), l.id, "_meta", metaSubscription)
	if pr.info != nil {
		result = rpc.Set(result, pr.info, "_meta", metaServer)
	}
	l.stream.finish(rpc.Message{ID: l.id, Result: result}.Bytes(), 0)
}

// filter takes from what a client wants to listen to what the server can do, and gives
// that as it is acknowledged.
func (l *listener) filter(pr *profile, want json.RawMessage) json.RawMessage {
	agreed := json.RawMessage(emptyObject)
	for kind, method := range map[string]string{"tools": noteTools, "prompts": notePrompts, "resources": noteResources} {
		name := kind + "ListChanged"
		if string(rpc.Get(want, name)) == "true" && pr.can(kind, "listChanged") {
			l.wants[method] = true
			agreed = rpc.Set(agreed, json.RawMessage("true"), name)
		}
	}
	if list := rpc.Get(want, "resourceSubscriptions"); list != nil && pr.can("resources", "subscribe") {
		for item := range rpc.Items(list) {
			if uri, ok := rpc.Text(item); ok && len(l.uris) < maxTopics {
				l.uris = append(l.uris, uri)
			}
		}
		agreed = rpc.Set(agreed, list, "resourceSubscriptions")
	}
	return agreed
}

// listen serves subscriptions/listen, until the client goes or the bridge stops.
func (b *bridge) listen(w http.ResponseWriter, r *http.Request, k *keeper, m rpc.Message, passed func()) {
	want := rpc.Get(m.Params, "notifications")
	if len(want) == 0 || want[0] != '{' {
		refuse(w, http.StatusBadRequest, m.ID, rpc.CodeInvalidParams, "notifications are missing")
		return
	}
	p, pr, err := k.ready(r.Context())
	if err != nil {
		writeError(w, http.StatusServiceUnavailable, m.ID, asError(err))
		return
	}
	if b.listeners.Add(1) > int64(b.lim.listeners) {
		b.listeners.Add(-1)
		refuse(w, http.StatusServiceUnavailable, m.ID, rpc.CodeServer, "too many clients listen")
		return
	}
	defer b.listeners.Add(-1)
	l := &listener{id: bytes.Clone(m.ID), stream: newStream("", 1, b.lim), wants: map[string]bool{}}
	filter := bytes.Clone(l.filter(pr, want))
	k.join(l)
	defer k.leave(l)
	for i, uri := range l.uris {
		if err := k.topics.retain(r.Context(), p, uri); err != nil {
			for _, held := range l.uris[:i] {
				k.topics.release(held)
			}
			writeError(w, http.StatusOK, m.ID, asError(err))
			return
		}
	}
	defer func() {
		for _, uri := range l.uris {
			k.topics.release(uri)
		}
	}()
	l.acknowledge(filter)
	passed()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-b.stopping:
			l.finish(pr)
		case <-done:
		}
	}()
	b.pour(w, r, &pour{stream: l.stream})
}
