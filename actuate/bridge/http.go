package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/observe"
)

// The headers of Streamable HTTP.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerEvent   = "Last-Event-Id"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"

	typeJSON   = "application/json"
	typeStream = "text/event-stream"
)

const (
	headerTimeout = 10 * time.Second // for a client to send its headers
	bodyTimeout   = 30 * time.Second // and its body
	idleTimeout   = 2 * time.Minute  // of a connection without a request
	headerBytes   = 32 << 10
)

func (b *bridge) httpServer() *http.Server {
	return &http.Server{
		Handler:           b,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytes,
		ErrorLog:          log.New(b.log, "bridge: ", 0),
	}
}

// ServeHTTP lets in who may come in, and leads to the endpoint or the health page.
func (b *bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b.requests.Add(1) > b.lim.requests {
		defer b.requests.Add(-1)
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, nil, rpc.CodeServer, "too many requests are being served")
		return
	}
	defer b.requests.Add(-1)
	if wrong := b.door.foreign(r); wrong != "" {
		refuse(w, http.StatusForbidden, nil, rpc.CodeInvalidRequest, wrong)
		return
	}
	switch r.URL.Path {
	case b.o.Path:
	case observe.BridgePage:
		b.health(w, r)
		return
	default:
		refuse(w, http.StatusNotFound, nil, rpc.CodeInvalidRequest, fmt.Sprintf("there is nothing here: the endpoint is %s", b.o.Path))
		return
	}
	if !b.door.admits(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(w, http.StatusUnauthorized, nil, rpc.CodeInvalidRequest, "this server wants its token: Authorization: Bearer TOKEN")
		return
	}
	b.endpoint(w, r)
}

func (b *bridge) endpoint(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		b.post(w, r)
	case r.Header.Get(headerVersion) == modernVersion && r.Header.Get(headerSession) == "":
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, nil, rpc.CodeInvalidRequest, "revision "+modernVersion+" has only POST")
	case r.Method == http.MethodGet:
		b.get(w, r)
	case r.Method == http.MethodDelete:
		b.delete(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, nil, rpc.CodeInvalidRequest, "only GET, POST and DELETE are served")
	}
}

// refuse answers with a status and an error of JSON-RPC that says why.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, code int, text string) {
	writeError(w, status, id, rpc.Errorf(code, "%s", text))
}

func writeError(w http.ResponseWriter, status int, id json.RawMessage, e *rpc.Error) {
	m := e.Response(id)
	writeJSON(w, status, m.Bytes())
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", typeJSON)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
}

// accepts says whether a request takes answers of a type.
func accepts(r *http.Request, kind string) bool {
	group, _, _ := strings.Cut(kind, "/")
	for _, header := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(header, ",") {
			media, _, _ := strings.Cut(part, ";")
			switch media = strings.ToLower(strings.TrimSpace(media)); media {
			case kind, group + "/*", "*/*":
				return true
			}
		}
	}
	return false
}

// body reads the body of a POST, and gives what to call when it is needed no more. If
// it must not be served, that was answered.
func (b *bridge) body(w http.ResponseWriter, r *http.Request) ([]byte, func(), bool) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil || media != typeJSON:
		refuse(w, http.StatusUnsupportedMediaType, nil, rpc.CodeInvalidRequest, "Content-Type has to be "+typeJSON)
		return nil, nil, false
	case !accepts(r, typeJSON) || !accepts(r, typeStream):
		refuse(w, http.StatusNotAcceptable, nil, rpc.CodeInvalidRequest, "Accept has to name both "+typeJSON+" and "+typeStream)
		return nil, nil, false
	case r.ContentLength > b.lim.body:
		b.tooLarge(w)
		return nil, nil, false
	}
	h := &held{b: b, from: http.MaxBytesReader(w, r.Body, b.lim.body)}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(bodyTimeout)) // where it cannot be set, as in tests, there is none
	text, err := h.read(r.ContentLength)
	_ = conn.SetReadDeadline(time.Time{})
	if err == nil {
		return text, h.free, true
	}
	h.free()
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		b.tooLarge(w)
	case errors.Is(err, errCrowded):
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, nil, rpc.CodeServer, errCrowded.Error())
	default:
		refuse(w, http.StatusBadRequest, nil, rpc.CodeParse, "the body did not come to its end")
	}
	return nil, nil, false
}

func (b *bridge) tooLarge(w http.ResponseWriter) {
	refuse(w, http.StatusRequestEntityTooLarge, nil, rpc.CodeInvalidRequest, fmt.Sprintf("the body has more than %d bytes", b.lim.body))
}

// held is a body on its way in. Of what all of them may have it takes what has come,
// and not what was announced: who sends nothing keeps nobody out. It is for one
// goroutine.
type held struct {
	b    *bridge
	from io.Reader
	n    int64
}

var errCrowded = errors.New("too many large requests are being served")

// firstPart is how much of a body there is room for before any of it has come, in
// bytes.
const firstPart = 64 << 10

func (h *held) read(length int64) ([]byte, error) {
	var text bytes.Buffer
	text.Grow(int(min(max(length, 0), firstPart)) + bytes.MinRead)
	_, err := text.ReadFrom(h)
	return text.Bytes(), err
}

func (h *held) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	h.n += int64(n)
	if h.b.bodies.Add(int64(n)) > h.b.lim.bodies && n > 0 {
		return n, errCrowded
	}
	return n, err
}

// free gives back what was taken. It may be called more than once.
func (h *held) free() {
	h.b.bodies.Add(-h.n)
	h.n = 0
}
