package bridge

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/spec"
)

// isModern says whether a message is one of the modern era: its _meta names a
// revision, or the header names one that no session has.
func isModern(r *http.Request, m rpc.Message) bool {
	if rpc.Get(m.Params, "_meta", metaVersion) != nil {
		return true
	}
	v := r.Header.Get(headerVersion)
	return v == modernVersion || v != "" && !isLegacy(v) && r.Header.Get(headerSession) == ""
}

// removed are the methods of the legacy era that the modern one does not have.
var removed = map[string]bool{
	methodInitialize: true, methodPing: true, methodSetLevel: true, methodSubscribe: true, methodUnsubscribe: true,
}

// postModern serves one message of a modern client. There is no session: each request
// says all that has to be known of who sends it. It calls passed once that is passed on.
func (b *bridge) postModern(w http.ResponseWriter, r *http.Request, m rpc.Message, passed func()) {
	switch {
	case m.Response():
		refuse(w, http.StatusBadRequest, nil, rpc.CodeInvalidRequest, "a client sends no responses in revision "+modernVersion)
		return
	case m.Notification():
		w.WriteHeader(http.StatusAccepted) // this revision has none that would do anything
		return
	}
	if status, e := checkModern(r, m); e != nil {
		writeError(w, status, m.ID, e)
		return
	}
	k, leave, err := b.visit()
	if err != nil {
		writeError(w, http.StatusServiceUnavailable, m.ID, asError(err))
		return
	}
	defer leave()
	if e := k.checkArguments(r, m); e != nil {
		writeError(w, http.StatusBadRequest, m.ID, e)
		return
	}
	st := newStream("", 1, b.lim)
	switch m.Method {
	case methodDiscover:
		_, pr, err := k.ready(r.Context())
		if err != nil {
			writeError(w, http.StatusServiceUnavailable, m.ID, asError(err))
			return
		}
		writeJSON(w, http.StatusOK, rpc.Message{ID: m.ID, Result: pr.discoverResult()}.Bytes())
	case methodListen:
		b.listen(w, r, k, m, passed)
	default:
		b.callModern(w, r, k, st, m, passed)
	}
}

// callModern passes a request on. If its client goes, it is cancelled.
func (b *bridge) callModern(w http.ResponseWriter, r *http.Request, k *keeper, st *stream, m rpc.Message, passed func()) {
	c := &call{id: bytes.Clone(m.ID), method: m.Method, to: st}
	if token := rpc.Get(m.Params, "_meta", "progressToken"); token != nil {
		c.token = bytes.Clone(token)
	}
	c.log, _ = rpc.Text(rpc.Get(m.Params, "_meta", metaLogLevel))
	if c.log != "" {
		v := visitor(c.log)
		k.join(&v)
		defer k.leave(&v)
		_ = k.relevel(r.Context()) // a server without logging has nothing to say
	}
	var at *peer
	err := k.submit(r.Context(), func(p *peer, pr *profile) error {
		params := m.Params
		if p.era != spec.EraModern {
			params, c.adapt = toLegacyParams(params), pr.toModern(m.Method)
		}
		at = p
		return p.pass(r.Context(), c, params, b.lim.own)
	})
	if err != nil {
		st.answered(&call{}, asError(err).Response(m.ID))
	}
	passed()
	b.answer(w, r, &reply{stream: st, gone: func() {
		if at != nil {
			at.giveUp(c, nil)
		}
	}})
}

// checkModern checks what each request has to carry, and that the headers say the
// same as the body.
func checkModern(r *http.Request, m rpc.Message) (int, *rpc.Error) {
	meta := rpc.Get(m.Params, "_meta")
	version, ok := rpc.Text(rpc.Get(meta, metaVersion))
	header := r.Header.Get(headerVersion)
	level := rpc.Get(meta, metaLogLevel)
	levelText, _ := rpc.Text(level)
	capabilities := rpc.Get(meta, metaCapabilities)
	var e *rpc.Error
	status := http.StatusBadRequest
	switch {
	case header == "":
		e = rpc.Errorf(rpc.CodeHeaderMismatch, "the header MCP-Protocol-Version is missing")
	case !ok:
		e = rpc.Errorf(rpc.CodeInvalidParams, "_meta has no %s", metaVersion)
	case header != version:
		e = rpc.Errorf(rpc.CodeHeaderMismatch, "the header MCP-Protocol-Version is %q, the body says %q", header, version)
	case version != modernVersion:
		data := rpc.Set(rpc.Set(nil, allVersions, "supported"), rpc.AppendText(nil, version), "requested")
		e = &rpc.Error{Code: rpc.CodeUnsupportedVersion, Message: fmt.Sprintf("revision %q is not supported without a session", version), Data: data}
	case len(capabilities) == 0 || capabilities[0] != '{':
		e = rpc.Errorf(rpc.CodeInvalidParams, "_meta has no %s", metaCapabilities)
	case level != nil && verbosity(levelText) < 0:
		e = rpc.Errorf(rpc.CodeInvalidParams, "%s is no log level", level)
	case removed[m.Method]:
		status, e = http.StatusNotFound, rpc.Errorf(rpc.CodeMethodNotFound, "revision %s has no %s", modernVersion, m.Method)
	default:
		e = checkMirror(r, m)
	}
	return status, e
}

// visit gives the server that modern clients share, and what to call when the request
// was served. With sharing PerSession it is one that is started for them: they have no
// session that one could belong to, and it ends when none has come for a while.
func (b *bridge) visit() (*keeper, func(), error) {
	if b.o.Sharing != spec.SharingPerSession {
		return b.common, func() {}, nil
	}
	b.mu.Lock()
	k := b.common
	b.visits++
	b.mu.Unlock()
	leave := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.visits--
		b.visited = time.Now()
	}
	if k != nil {
		return k, leave, nil
	}
	b.commonStart.Lock()
	defer b.commonStart.Unlock()
	b.mu.Lock()
	k = b.common
	b.mu.Unlock()
	if k == nil {
		var err error
		if k, err = b.keepOne(ownHello(), true, b.tried); err != nil {
			leave()
			return nil, nil, err
		}
	}
	return k, leave, nil
}
