package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/spec"
)

// profile is what a server has said of itself when it was greeted.
type profile struct {
	era          spec.Era
	result       json.RawMessage // of initialize or server/discover, as it came
	version      string          // the revision that is spoken with it
	capabilities json.RawMessage
	info         json.RawMessage // serverInfo; nil for none
	instructions json.RawMessage // nil for none
}

// hello is whom a server is greeted as.
type hello struct {
	params       json.RawMessage // of initialize
	capabilities json.RawMessage
	client       json.RawMessage
	own          bool // the bridge itself
}

// ownHello greets as the bridge itself: no capabilities, so that nothing is asked back.
func ownHello() hello {
	h := hello{
		own:          true,
		capabilities: json.RawMessage(emptyObject),
		client:       json.RawMessage(`{"name":"` + clientName + `","version":"` + clientVersion + `"}`),
	}
	h.params = json.RawMessage(`{"protocolVersion":"` + latestLegacy + `","capabilities":{},"clientInfo":` + string(h.client) + `}`)
	return h
}

// clientHello greets as the client that has sent these params of initialize.
func clientHello(params json.RawMessage) hello {
	h := hello{params: bytes.Clone(params)}
	if h.capabilities = rpc.Get(h.params, "capabilities"); h.capabilities == nil {
		h.capabilities = json.RawMessage(emptyObject)
	}
	h.client = rpc.Get(h.params, "clientInfo")
	return h
}

// meta puts what each modern request needs into its params.
func (h hello) meta(params json.RawMessage, level string) json.RawMessage {
	meta := rpc.Get(params, "_meta")
	meta = rpc.Set(meta, json.RawMessage(`"`+modernVersion+`"`), metaVersion)
	meta = rpc.Set(meta, h.capabilities, metaCapabilities)
	if h.client != nil {
		meta = rpc.Set(meta, h.client, metaClient)
	}
	if level != "" {
		meta = rpc.Set(meta, rpc.AppendText(nil, level), metaLogLevel)
	}
	return rpc.Set(params, meta, "_meta")
}

// refused says that a server answered a greeting with an error: it may belong to the
// other era.
type refusedError struct {
	method string
	err    *rpc.Error
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("it refused %s: %v", e.method, e.err)
}

// greet greets a server in one era.
func greet(ctx context.Context, p *peer, h hello, era spec.Era) (*profile, error) {
	if era == spec.EraModern {
		return greetModern(ctx, p, h)
	}
	result, err := askGreeting(ctx, p, methodInitialize, h.params)
	if err != nil {
		return nil, err
	}
	pr := &profile{era: spec.EraLegacy, result: result}
	pr.version, _ = rpc.Text(rpc.Get(result, "protocolVersion"))
	if !isLegacy(pr.version) {
		return nil, fmt.Errorf("it speaks revision %q of MCP in answer to initialize, which is not known here", pr.version)
	}
	pr.info = rpc.Get(result, "serverInfo")
	pr.fill()
	return pr, p.send(ctx, rpc.Message{Method: noteInitialized})
}

func greetModern(ctx context.Context, p *peer, h hello) (*profile, error) {
	result, err := askGreeting(ctx, p, methodDiscover, h.meta(nil, ""))
	if err != nil {
		return nil, err
	}
	known := false
	for v := range rpc.Items(rpc.Get(result, "supportedVersions")) {
		s, _ := rpc.Text(v)
		known = known || s == modernVersion
	}
	if !known {
		return nil, fmt.Errorf("it speaks only revisions of MCP that are not known here: %s", rpc.Get(result, "supportedVersions"))
	}
	pr := &profile{era: spec.EraModern, result: result, version: modernVersion}
	if pr.info = rpc.Get(result, "_meta", metaServer); pr.info == nil {
		pr.info = rpc.Get(result, "serverInfo")
	}
	pr.fill()
	return pr, nil
}

func askGreeting(ctx context.Context, p *peer, method string, params json.RawMessage) (json.RawMessage, error) {
	began := time.Now()
	result, err := p.ask(ctx, method, params)
	var e *rpc.Error
	switch {
	case errors.As(err, &e) && p.isOver():
		return nil, fmt.Errorf("it ended before it answered %s", method)
	case errors.As(err, &e):
		return nil, &refusedError{method: method, err: e}
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("it did not answer %s within %s", method, time.Since(began).Round(100*time.Millisecond))
	case err != nil:
		return nil, err
	case len(result) == 0 || result[0] != '{':
		return nil, fmt.Errorf("its answer to %s is no object", method)
	}
	return result, nil
}

func (p *peer) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended != nil
}

func (pr *profile) fill() {
	if pr.capabilities = rpc.Get(pr.result, "capabilities"); pr.capabilities == nil {
		pr.capabilities = json.RawMessage(emptyObject)
	}
	pr.instructions = rpc.Get(pr.result, "instructions")
}

// can says whether the server has announced a capability.
func (pr *profile) can(path ...string) bool {
	value := rpc.Get(pr.capabilities, path...)
	return value != nil && string(value) != "false" && string(value) != "null"
}

// serverInfo is what is told of the server in reports.
func (pr *profile) serverInfo(tools int) *spec.ServerInfo {
	name, _ := rpc.Text(rpc.Get(pr.info, "name"))
	version, _ := rpc.Text(rpc.Get(pr.info, "version"))
	return &spec.ServerInfo{Name: name, Version: version, ProtocolVersion: pr.version, Era: pr.era, Tools: tools}
}
