package door

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

const (
	// checkedWithin bounds a question of the door's own that decides what to do.
	checkedWithin = 10 * time.Second
	// maxPages bounds how many pages of a list are asked for.
	maxPages = 100
)

// retries are the reasons for which one call was sent again, each once.
type retries struct{ moved, session, params, stopped bool }

// retry says whether a call that was refused should be sent again, after what was
// wrong has been seen to: the server, or its token, is another one by now; the session
// has ended and the server said so with 400; headers were missing that repeat
// parameters of a tool; it begins no session now, as one does that is being stopped, and
// many clients ask for that only once.
func (d *door) retry(c *call, way link, err error) bool {
	var refused *refusedError
	if !errors.As(err, &refused) {
		return false
	}
	ctx, cancel := context.WithTimeout(c.ctx, checkedWithin)
	defer cancel()
	switch refused.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed:
		return once(&c.retries.moved) && d.moved(ctx, way)
	case http.StatusServiceUnavailable:
		return c.m.Method == methodInitialize && once(&c.retries.stopped) && d.lose(way, err)
	case http.StatusBadRequest:
		if refused.says != nil && refused.says.Code == rpc.CodeHeaderMismatch {
			return c.m.Method == methodCallTool && once(&c.retries.params) && d.relearn(ctx, way, c)
		}
		return c.revision == "" && c.m.Method != methodInitialize && once(&c.retries.session) && d.ended(ctx, way, err)
	}
	return false
}

// once is true the first time.
func once(done *bool) bool {
	was := *done
	*done = true
	return !was
}

// moved looks the server up again, and takes the way out of use if it leads elsewhere.
func (d *door) moved(ctx context.Context, way link) bool {
	d.mu.Lock()
	was, current := d.at, d.link == way
	d.mu.Unlock()
	if !current {
		return true // somebody has seen to it
	}
	at, err := d.lookup(ctx)
	if err != nil || at == was {
		return false
	}
	return d.lose(way, errors.New("the server has moved to "+at.URL))
}

// ended asks in the session for a sign of life: real servers refuse everything with
// 400 where they do not know it.
func (d *door) ended(ctx context.Context, way link, err error) bool {
	s, ok := way.(*streamable)
	if !ok || !s.hasSession() {
		return false
	}
	_, pinged := d.ask(ctx, way, rpc.Message{Method: methodPing})
	var refused *refusedError
	if !errors.As(pinged, &refused) || refused.status != http.StatusBadRequest {
		return false
	}
	return d.lose(way, err)
}

// relearn asks for the tools, as the client would.
func (d *door) relearn(ctx context.Context, way link, c *call) bool {
	meta := rpc.Get(c.m.Params, "_meta")
	var cursor json.RawMessage
	for range maxPages {
		params := rpc.Set([]byte("{}"), meta, "_meta")
		if cursor != nil {
			params = rpc.Set(params, cursor, "cursor")
		}
		result, err := d.ask(ctx, way, rpc.Message{Method: methodListTools, Params: params})
		if err != nil {
			return false
		}
		d.params.learn(result)
		if cursor = rpc.Get(result, "nextCursor"); len(cursor) <= len(`""`) {
			return true
		}
	}
	return false
}
