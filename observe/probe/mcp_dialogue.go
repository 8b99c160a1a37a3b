package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// The newest revision of each era that is spoken here.
const (
	legacyVersion = "2025-11-25"
	modernVersion = "2026-07-28"
)

// The methods that are used.
const (
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodPing        = "ping"
	methodDiscover    = "server/discover"
	methodTools       = "tools/list"
)

const sessionHeader = "Mcp-Session-Id"

// dialogue is how one server is spoken to through Streamable HTTP, once that is
// known. It may be used by several probes at a time.
type dialogue struct {
	url     string
	era     spec.Era
	version string // of the protocol
	session string // empty where the server keeps none
	says    greeted
	began   time.Time
	lastID  atomic.Int64
	// proven is set once something was answered in it beside the greeting.
	proven atomic.Bool
}

// greeted is what a server says of itself.
type greeted struct {
	name, version string
	tools         bool // it has tools
}

// poster makes POST requests. It follows no redirect that would make a GET of one.
var poster = &http.Client{
	Transport: client.Transport,
	CheckRedirect: func(to *http.Request, via []*http.Request) error {
		if to.Method != via[0].Method {
			return http.ErrUseLastResponse
		}
		return checkRedirect(to, via)
	},
}

// begun notes who answers from now on.
func (d *dialogue) begun(says greeted) *dialogue {
	d.says, d.began = says, time.Now()
	return d
}

// initialized is the result of initialize.
type initialized struct {
	ProtocolVersion string         `json:"protocolVersion"`
	Capabilities    capabilities   `json:"capabilities"`
	ServerInfo      implementation `json:"serverInfo"`
}

type capabilities struct {
	Tools json.RawMessage `json:"tools"`
}

type implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

func (c capabilities) greeted(i implementation) greeted {
	return greeted{told(i.Name), told(i.Version), c.Tools != nil}
}

// initializeParams is what a client of the legacy era says of itself.
func initializeParams(version string) map[string]any {
	return map[string]any{
		"protocolVersion": version, "capabilities": struct{}{},
		"clientInfo": clientInfo,
	}
}

var clientInfo = map[string]string{"name": userAgent, "version": "1"}

// parseInitialized reads the result of initialize.
func parseInitialized(result json.RawMessage) (initialized, error) {
	var r initialized
	if err := json.Unmarshal(result, &r); err != nil {
		return r, failuref("the result does not fit: %s", jsonTrouble(err, result))
	}
	if r.ProtocolVersion == "" {
		return r, failuref("the result has no protocolVersion%s", quoted(result))
	}
	return r, nil
}

// beginLegacy makes the handshake of revisions up to 2025-11-25.
func beginLegacy(ctx context.Context, url string) (*dialogue, error) {
	d := &dialogue{url: url, era: spec.EraLegacy}
	result, header, err := d.post(ctx, methodInitialize, initializeParams(legacyVersion), false)
	d.session = header.Get(sessionHeader)
	var r initialized
	if err == nil {
		if r, err = parseInitialized(result); err != nil {
			err = failuref("%s: %v", d.asked(methodInitialize), err)
		}
	}
	if err == nil {
		d.version = r.ProtocolVersion
		_, _, err = d.post(ctx, methodInitialized, nil, true)
	}
	if err != nil {
		d.leave()
		return nil, err
	}
	return d.begun(r.Capabilities.greeted(r.ServerInfo)), nil
}

// discovered is the result of server/discover.
type discovered struct {
	SupportedVersions []string       `json:"supportedVersions"`
	Capabilities      capabilities   `json:"capabilities"`
	ServerInfo        implementation `json:"serverInfo"`
	Meta              struct {
		ServerInfo implementation `json:"io.modelcontextprotocol/serverInfo"`
	} `json:"_meta"`
}

// beginModern asks a server of revision 2026-07-28 what it is. There is no
// handshake, but a server of the other era may have begun a session all the same.
func beginModern(ctx context.Context, url string) (*dialogue, error) {
	d := &dialogue{url: url, era: spec.EraModern, version: modernVersion}
	result, header, err := d.post(ctx, methodDiscover, nil, false)
	stray := &dialogue{url: url, session: header.Get(sessionHeader)}
	defer stray.leave()
	if err != nil {
		return nil, err
	}
	var r discovered
	if err := json.Unmarshal(result, &r); err != nil {
		return nil, failuref("%s: the result does not fit: %s", d.asked(methodDiscover), jsonTrouble(err, result))
	}
	if !slices.Contains(r.SupportedVersions, modernVersion) {
		return nil, failuref("%s: it does not support %s, only %s", d.asked(methodDiscover), modernVersion, told(fmt.Sprint(r.SupportedVersions)))
	}
	if r.ServerInfo.Name == "" {
		r.ServerInfo = r.Meta.ServerInfo
	}
	return d.begun(r.Capabilities.greeted(r.ServerInfo)), nil
}

// attempt asks for a sign of life, or for the tools.
func (d *dialogue) attempt(ctx context.Context, verify bool, answer *observe.Answer) (err error) {
	if !verify {
		if err = d.ping(ctx); err == nil {
			d.proven.Store(true)
		}
		return err
	}
	info := d.says.info(d.url, d.version, d.era)
	if !d.says.tools {
		err = d.ping(ctx)
	} else {
		info.Tools, err = countTools(func(params map[string]any) (json.RawMessage, error) {
			return d.request(ctx, methodTools, params)
		})
	}
	if err != nil {
		return err
	}
	d.proven.Store(true)
	answer.Server = info
	return nil
}

func (g greeted) info(url, version string, era spec.Era) *spec.ServerInfo {
	return &spec.ServerInfo{Name: g.name, Version: g.version, ProtocolVersion: told(version), Era: era, URL: url}
}

// ping asks for a sign of life. To say that it does not know the method is one.
func (d *dialogue) ping(ctx context.Context) error {
	method := methodPing
	if d.era == spec.EraModern {
		method = methodDiscover
	}
	_, err := d.request(ctx, method, nil)
	var r *rpc.Error
	if errors.As(err, &r) && r.Code == rpc.CodeMethodNotFound {
		return nil
	}
	return err
}

func (d *dialogue) request(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	result, _, err := d.post(ctx, method, params, false)
	return result, err
}

func (d *dialogue) asked(method string) string { return "POST " + d.url + " (" + method + ")" }

// post sends one request and reads its answer, or a notification, which has none.
// The error is a *refusal or wraps an *rpc.Error where the server has said no.
func (d *dialogue) post(ctx context.Context, method string, params map[string]any, notify bool) (json.RawMessage, http.Header, error) {
	asked, allowed := d.asked(method), allowance(ctx)
	id := d.lastID.Add(1)
	req, err := d.newRequest(ctx, method, params, id, notify)
	if err != nil {
		return nil, nil, failuref("%s: %v", asked, err)
	}
	res, err := poster.Do(req)
	if err != nil {
		return nil, nil, &failure{asked + ": " + cause(err, allowed), err}
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode < 200 || res.StatusCode > 299:
		return nil, res.Header, refused(asked, res)
	case notify:
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxBody))
		return nil, res.Header, nil
	}
	result, err := readAnswer(res, id)
	if err != nil {
		err = &failure{asked + ": " + cause(err, allowed), err}
	}
	return result, res.Header, err
}

// failure is a failure with a cause that somebody here looks at.
type failure struct {
	line  string
	cause error
}

func (f *failure) Error() string { return f.line }
func (f *failure) Unwrap() error { return f.cause }

func (d *dialogue) newRequest(ctx context.Context, method string, params map[string]any, id int64, notify bool) (*http.Request, error) {
	if notify {
		id = 0
	}
	if d.era == spec.EraModern {
		params = d.withMeta(params)
	}
	m, err := newMessage(method, params, id)
	if err != nil {
		return nil, err
	}
	req, err := newPost(ctx, d.url, m)
	if err != nil {
		return nil, err
	}
	if d.version != "" {
		req.Header.Set("Mcp-Protocol-Version", d.version)
	}
	if d.session != "" {
		req.Header.Set(sessionHeader, d.session)
	}
	if d.era == spec.EraModern {
		req.Header.Set("Mcp-Method", method) // the headers mirror the body
	}
	return req, nil
}

// withMeta adds what each request of the modern era says of its client.
func (d *dialogue) withMeta(params map[string]any) map[string]any {
	all := map[string]any{"_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion":    d.version,
		"io.modelcontextprotocol/clientInfo":         clientInfo,
		"io.modelcontextprotocol/clientCapabilities": struct{}{},
	}}
	maps.Copy(all, params)
	return all
}

func newPost(ctx context.Context, url string, m rpc.Message) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(m.Bytes()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	return req, nil
}

// readAnswer reads the answer in either of its forms.
func readAnswer(res *http.Response, id int64) (json.RawMessage, error) {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		return awaitAnswer(newEventReader(res.Body, maxMessage), id)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxMessage+1))
	switch {
	case err != nil:
		return nil, err
	case len(body) > maxMessage:
		return nil, failuref("%s, but the answer does not end (%d bytes read)", status(res), maxMessage)
	case kind != "application/json":
		return nil, failuref("%s, but no JSON: it is %s%s", status(res), orNothing(kind), quoted(body))
	}
	return parseAnswer(body, id)
}

func orNothing(kind string) string {
	if kind == "" {
		return "of no type"
	}
	return told(kind)
}

// leave ends the session, if there is one, so that it does not stay at the
// server. A server may refuse (405), or be gone.
func (d *dialogue) leave() {
	if d == nil || d.session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, d.url, http.NoBody)
	if err != nil {
		return
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set(sessionHeader, d.session)
	if d.version != "" {
		req.Header.Set("Mcp-Protocol-Version", d.version)
	}
	if res, err := poster.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxBody))
		res.Body.Close()
	}
}
