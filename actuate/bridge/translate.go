package bridge

import (
	"encoding/json"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/spec"
)

// initializeResult answers a client's initialize in the stead of the server, in the
// revision that the client has asked for if that is known, else in the latest.
func (pr *profile) initializeResult(asked string, several bool) (result json.RawMessage, version string) {
	if version = latestLegacy; isLegacy(asked) {
		version = asked
	}
	result = pr.result
	if pr.era == spec.EraModern {
		result = rpc.Set(nil, pr.capabilities, "capabilities")
		info := pr.info
		if info == nil {
			info = json.RawMessage(`{"name":"unnamed","version":""}`) // the legacy era wants one
		}
		result = rpc.Set(result, info, "serverInfo")
		if pr.instructions != nil {
			result = rpc.Set(result, pr.instructions, "instructions")
		}
		if pr.can("resources") {
			result = rpc.Set(result, json.RawMessage("true"), "capabilities", "resources", "subscribe")
		}
	}
	if several && pr.can("tasks") {
		// Who lists tasks would see those of all clients.
		result = rpc.Set(result, nil, "capabilities", "tasks")
	}
	return rpc.Set(result, rpc.AppendText(nil, version), "protocolVersion"), version
}

// discoverResult answers a client's server/discover.
func (pr *profile) discoverResult() json.RawMessage {
	var result json.RawMessage
	if pr.era == spec.EraModern {
		result = pr.result
	} else {
		result = rpc.Set(nil, rpc.Set(pr.capabilities, nil, "tasks"), "capabilities")
		if pr.instructions != nil {
			result = rpc.Set(result, pr.instructions, "instructions")
		}
	}
	return pr.modernResult(methodDiscover, rpc.Set(result, allVersions, "supportedVersions"))
}

// toModern is what an answer of a legacy server is to a modern client.
func (pr *profile) toModern(method string) func(rpc.Message) rpc.Message {
	return func(m rpc.Message) rpc.Message {
		if m.Error != nil {
			m.Error = modernError(m.Error)
			return m
		}
		m.Result = pr.modernResult(method, m.Result)
		return m
	}
}

// cacheable are the methods whose results say how long they are good for.
var cacheable = map[string]bool{
	methodDiscover: true, methodTools: true, "prompts/list": true, "resources/list": true,
	"resources/templates/list": true, "resources/read": true,
}

// modernResult adds what the modern era has in each result. A legacy server says
// nothing of how long it is good for, so it is not at all.
func (pr *profile) modernResult(method string, result json.RawMessage) json.RawMessage {
	if len(result) == 0 || result[0] != '{' {
		return result
	}
	var has struct{ kind, ttl, scope bool }
	var meta json.RawMessage
	for name, value := range rpc.Members(result) {
		switch string(name) {
		case `"resultType"`:
			has.kind = true
		case `"ttlMs"`:
			has.ttl = true
		case `"cacheScope"`:
			has.scope = true
		case `"_meta"`:
			meta = value
		}
	}
	add := func(is bool, value, name string) {
		if !is {
			result = rpc.Add(result, json.RawMessage(value), name)
		}
	}
	add(has.kind, `"complete"`, "resultType")
	add(has.ttl || !cacheable[method], "0", "ttlMs")
	add(has.scope || !cacheable[method], `"private"`, "cacheScope")
	if pr.info != nil && rpc.Get(meta, metaServer) == nil {
		result = rpc.Set(result, rpc.Set(meta, pr.info, metaServer), "_meta")
	}
	return result
}

// Codes of earlier revisions that must not be used in the modern era.
const (
	codeResourceNotFound = -32002
	codeURLElicitation   = -32042
)

func modernError(object json.RawMessage) json.RawMessage {
	switch rpc.ParseError(object).Code {
	case codeResourceNotFound:
		return rpc.Set(object, json.RawMessage("-32602"), "code")
	case codeURLElicitation:
		return rpc.Set(object, json.RawMessage("-32603"), "code")
	}
	return object
}

// toLegacy is what an answer of a modern server is to a legacy client.
func toLegacy(m rpc.Message) rpc.Message {
	if m.Error != nil {
		return m
	}
	switch kind, ok := rpc.Text(rpc.Get(m.Result, "resultType")); {
	case ok && kind == "input_required":
		e := rpc.Errorf(rpc.CodeServer, "the server wants input from the user for this, which a client of this revision cannot be asked for here")
		return e.Response(m.ID)
	case ok:
		m.Result = rpc.Without(m.Result, "resultType", "ttlMs", "cacheScope")
	}
	return m
}

// toLegacyParams takes out of params what only the modern era has.
func toLegacyParams(params json.RawMessage) json.RawMessage {
	return withoutMeta(params, metaVersion, metaClient, metaCapabilities, metaLogLevel)
}
