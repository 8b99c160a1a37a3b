package bridge

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/spec"
)

// post serves messages of a client, of either era.
func (b *bridge) post(w http.ResponseWriter, r *http.Request) {
	body, free, ok := b.body(w, r)
	if !ok {
		return
	}
	defer free()
	all, errs, batch, err := rpc.ParseAll(body)
	if err == nil && !batch {
		err = errs[0]
	}
	if err != nil {
		var m rpc.Message
		if len(all) == 1 && !batch {
			m = all[0]
		}
		writeError(w, http.StatusBadRequest, m.ID, asError(err))
		return
	}
	if !batch && isModern(r, all[0]) {
		b.postModern(w, r, all[0], free)
		return
	}
	id := r.Header.Get(headerSession)
	if id == "" {
		b.first(w, r, all, batch)
		return
	}
	s := b.session(w, r, id)
	if s == nil {
		return
	}
	defer s.leave(r, false)
	if batch && s.version != batchVersion && s.version != "2024-11-05" {
		refuse(w, http.StatusBadRequest, nil, rpc.CodeInvalidRequest, "revision "+s.version+" has no batches")
		return
	}
	s.post(w, r, all, errs, batch, free)
}

func asError(err error) *rpc.Error {
	var e *rpc.Error
	if errors.As(err, &e) {
		return e
	}
	return rpc.Errorf(rpc.CodeServer, "%s", err)
}

// first serves a POST without a session: the request that begins one.
func (b *bridge) first(w http.ResponseWriter, r *http.Request, all []rpc.Message, batch bool) {
	m := all[0]
	if batch || m.Method != methodInitialize || !m.Request() {
		refuse(w, http.StatusBadRequest, m.ID, rpc.CodeInvalidRequest, "the header Mcp-Session-Id is missing: only initialize goes without")
		return
	}
	asked, ok := rpc.Text(rpc.Get(m.Params, "protocolVersion"))
	if !ok {
		refuse(w, http.StatusBadRequest, m.ID, rpc.CodeInvalidParams, "protocolVersion is missing")
		return
	}
	k, err := b.keeperFor(r.Context(), m.Params)
	var failed *startError
	if errors.As(err, &failed) && failed.refused != nil {
		writeError(w, http.StatusOK, m.ID, failed.refused) // in its own words, as over a pipe
		return
	}
	if err != nil {
		w.Header().Set("Retry-After", "5")
		writeError(w, http.StatusServiceUnavailable, m.ID, asError(err))
		return
	}
	_, pr, err := k.ready(r.Context())
	if err != nil {
		if !k.several {
			go k.stop()
		}
		w.Header().Set("Retry-After", "5")
		writeError(w, http.StatusServiceUnavailable, m.ID, asError(err))
		return
	}
	result, version := pr.initializeResult(asked, k.several)
	if !k.several && pr.era == spec.EraLegacy {
		result, version = pr.result, pr.version // its own client's, word for word
	}
	s, err := b.admit(k, version)
	if err != nil {
		w.Header().Set("Retry-After", "5")
		writeError(w, http.StatusServiceUnavailable, m.ID, asError(err))
		return
	}
	w.Header().Set(headerSession, s.id)
	writeJSON(w, http.StatusOK, rpc.Message{ID: m.ID, Result: result}.Bytes())
}

// session finds the session of a request, which the caller has to leave; nil if there
// is none, or the request is not one for it: then that was answered.
func (b *bridge) session(w http.ResponseWriter, r *http.Request, id string) *session {
	b.mu.Lock()
	s := b.sessions[id]
	if s != nil {
		s.enter()
	}
	b.mu.Unlock()
	if s == nil {
		refuse(w, http.StatusNotFound, nil, rpc.CodeSession, "there is no such session, or no more: begin a new one with initialize")
		return nil
	}
	if v := r.Header.Get(headerVersion); v != "" && !isLegacy(v) {
		s.leave(r, false)
		refuse(w, http.StatusBadRequest, nil, rpc.CodeInvalidRequest, fmt.Sprintf("revision %q of MCP is not known in a session", v))
		return nil
	}
	return s
}

// post serves the messages of one POST, and calls passed once they are passed on: an
// answer may take long.
func (s *session) post(w http.ResponseWriter, r *http.Request, all []rpc.Message, errs []error, batch bool, passed func()) {
	want := 0
	for i, m := range all {
		if errs[i] != nil || m.Request() {
			want++
		}
	}
	// What a client has begun goes on when its connection is lost: in this era only a
	// notification cancels.
	ctx := context.WithoutCancel(r.Context())
	if want == 0 {
		s.tell(w, ctx, all)
		return
	}
	st := s.stream(want)
	defer s.unpost(st)
	// A server that takes nothing holds up all of a batch no longer than one message.
	ctx, cancel := context.WithTimeout(ctx, s.b.lim.patience+s.b.lim.own)
	defer cancel()
	brief, cancel := context.WithTimeout(ctx, s.b.lim.own)
	defer cancel()
	for i, m := range all {
		switch {
		case errs[i] != nil:
			st.finish(asError(errs[i]).Response(m.ID).Bytes(), 0)
		case m.Request():
			s.request(ctx, st, m)
		default:
			_ = s.take(brief, m) // a batch has no place to say what went wrong with it
		}
	}
	passed()
	s.b.answer(w, r, &reply{stream: st, session: s, batch: batch})
}

// tell serves a POST that no answer is due to.
func (s *session) tell(w http.ResponseWriter, ctx context.Context, all []rpc.Message) {
	ctx, cancel := context.WithTimeout(ctx, s.b.lim.own)
	defer cancel()
	for _, m := range all {
		err := s.take(ctx, m)
		if errors.Is(err, context.DeadlineExceeded) {
			err = errDeaf
		}
		if err != nil {
			writeError(w, http.StatusServiceUnavailable, nil, asError(err))
			return
		}
	}
	w.WriteHeader(http.StatusAccepted)
}

// take takes a notification or an answer of the client.
func (s *session) take(ctx context.Context, m rpc.Message) error {
	if m.Response() {
		return s.reply(ctx, m)
	}
	return s.notify(ctx, m)
}

// get serves the stream of a session, or what a client was cut off from.
func (b *bridge) get(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(headerSession)
	switch {
	case id == "":
		refuse(w, http.StatusBadRequest, nil, rpc.CodeInvalidRequest, "the header Mcp-Session-Id is missing")
		return
	case !accepts(r, typeStream):
		refuse(w, http.StatusNotAcceptable, nil, rpc.CodeInvalidRequest, "Accept has to name "+typeStream)
		return
	}
	s := b.session(w, r, id)
	if s == nil {
		return
	}
	p := &pour{stream: s.get, from: s.get.unsent(), ids: true, endless: true}
	defer func() { s.leave(r, p.endless && p.hungUp) }()
	if last := r.Header.Get(headerEvent); last != "" {
		st, number, ok := s.resumed(last)
		if !ok {
			refuse(w, http.StatusBadRequest, nil, rpc.CodeInvalidRequest, "what came after this Last-Event-ID is not kept any more")
			return
		}
		p.stream, p.from, p.take, p.endless = st, number, true, st == s.get
	}
	if !b.pour(w, r, p) {
		refuse(w, http.StatusConflict, nil, rpc.CodeInvalidRequest, "this session has a stream open already: one is all it may have")
	}
}

// delete ends a session.
func (b *bridge) delete(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(headerSession)
	if id == "" {
		refuse(w, http.StatusBadRequest, nil, rpc.CodeInvalidRequest, "the header Mcp-Session-Id is missing")
		return
	}
	s := b.session(w, r, id)
	if s == nil {
		return
	}
	defer s.leave(r, false)
	b.dismiss(s)
	w.WriteHeader(http.StatusNoContent)
}
