package door

import (
	"encoding/json"
	"strconv"
	"sync"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// maxAsked bounds the requests of the server that the client has not answered.
const maxAsked = 1024

// question is a request of the server that the client has not answered.
type question struct {
	way   link
	id    json.RawMessage // as the server gave it
	given json.RawMessage // as the client was given it
}

// asked are the requests that the server has sent to the client. A server that takes
// the place of another counts its ids from the beginning, too: an answer that was
// meant for the former one would be taken for that to another question. So from the
// second server on their ids are made different.
type asked struct {
	mu    sync.Mutex
	open  map[rpc.Key]question // by the id that the client was given
	ways  map[link]int         // the number of each
	count int
}

func (a *asked) init() { a.open, a.ways = map[rpc.Key]question{}, map[link]int{} }

// ask notes a request and gives its id for the client. It is false where there are
// too many.
func (a *asked) ask(way link, id json.RawMessage) (json.RawMessage, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.open) >= maxAsked {
		return nil, false
	}
	q := question{way: way, id: id, given: a.givenLocked(way, id)}
	a.open[rpc.KeyOf(q.given)] = q
	return q.given, true
}

func (a *asked) givenLocked(way link, id json.RawMessage) json.RawMessage {
	n, known := a.ways[way]
	if !known {
		n = a.count
		a.count++
		a.ways[way] = n
	}
	if n == 0 {
		return id
	}
	return rpc.AppendText(nil, "door-"+strconv.Itoa(n)+"-"+string(id))
}

// given is the id that the client knows of a question; false where there is none.
func (a *asked) given(way link, id json.RawMessage) (json.RawMessage, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.ways[way]; !known {
		return nil, false
	}
	given := a.givenLocked(way, id)
	_, open := a.open[rpc.KeyOf(given)]
	return given, open
}

// answered gives the server that asked, and the id that it knows.
func (a *asked) answered(given json.RawMessage) (way link, id json.RawMessage, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := rpc.KeyOf(given)
	q, ok := a.open[key]
	delete(a.open, key)
	return q.way, q.id, ok
}

// forget gives the questions of a server that has gone, as the client knows them.
func (a *asked) forget(way link) (given []json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.ways, way)
	for key, q := range a.open {
		if q.way == way {
			given = append(given, q.given)
			delete(a.open, key)
		}
	}
	return given
}
