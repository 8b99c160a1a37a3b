package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/proc-controller/proc-controller/bearer"
	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// withEnviron are the variables that tell a command where workloads are, as
// NAME=value. Where two of them would have one name, the first in the order of
// the objects has it, and a note says so; MCP servers come before agents.
func withEnviron(objects []api.Object) (env, notes []string) {
	holders := map[string]spec.Key{}
	add := func(k spec.Key, name, value string) {
		if other, taken := holders[name]; taken {
			notes = append(notes, fmt.Sprintf("%s is that of %s, and not of %s", name, shortName(other), shortName(k)))
			return
		}
		holders[name] = k
		env = append(env, name+"="+value)
	}
	for _, kind := range []spec.Kind{spec.KindMCPServer, spec.KindAgent} {
		for i := range objects {
			o := &objects[i]
			if o.Kind != kind {
				continue
			}
			prefix := variableName(o.Metadata.Name)
			if port, path, ok := mainPort(o); ok {
				add(o.Key(), prefix+"_URL", "http://127.0.0.1:"+port+path)
				add(o.Key(), prefix+"_PORT", port)
			}
			for _, p := range o.Status.Ports {
				if p.Name != "" {
					add(o.Key(), prefix+"_PORT_"+variableName(p.Name), strconv.Itoa(int(p.Port)))
				}
			}
		}
	}
	return env, notes
}

// variableName writes a name as the environment does: upper case, and _ for what
// is neither letter nor digit. A digit cannot come first.
func variableName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
	if name != "" && name[0] <= '9' {
		return "_" + name
	}
	return name
}

// mainPort is the port that a client would use, with the path of what is there:
// of an MCP server that of its endpoint, else the only port, or the one named
// http, or the one without a name.
func mainPort(o *api.Object) (port, path string, ok bool) {
	var mcp *spec.MCP
	if o.Spec != nil {
		mcp = o.Spec.MCP
		if a := o.Spec.A2A; a != nil && mcp == nil {
			mcp = &spec.MCP{Port: a.Port}
		}
	}
	e, ok := mcp.Endpoint(o.Metadata.Name, o.Status.Ports)
	if !ok {
		return "", "", false
	}
	port, path, _ = strings.Cut(strings.TrimPrefix(e.URL, "http://127.0.0.1:"), "/")
	if o.Kind != spec.KindMCPServer {
		return port, "", true
	}
	return port, "/" + path, true
}

// mcpConfigOf is the file that tells of all MCP servers with an endpoint.
func mcpConfigOf(objects []api.Object) ([]byte, error) {
	var servers []spec.ServerEndpoint
	tokens := map[string]string{}
	for i := range objects {
		o := &objects[i]
		if o.Kind != spec.KindMCPServer || o.Spec == nil {
			continue
		}
		if e, ok := o.Spec.MCP.Endpoint(o.Metadata.Name, o.Status.Ports); ok {
			token, err := tokenOf(o)
			if err != nil {
				return nil, err
			}
			servers, tokens[e.Name] = append(servers, e), token
		}
	}
	return spec.EncodeMCPConfig(servers, tokens), nil
}

// tokenOf reads the token that clients of a server have to show; empty where it
// wants none.
func tokenOf(o *api.Object) (string, error) {
	if o.Spec == nil || o.Spec.MCP == nil || o.Spec.MCP.Auth == nil || o.Status.Source == nil {
		return "", nil
	}
	path, err := spec.ResolvePath(o.Spec.MCP.Auth.TokenFile, filepath.Dir(o.Status.Source.File), os.Getenv("HOME"))
	if err != nil {
		return "", fmt.Errorf("%s: cannot find its token file: %v", shortName(o.Key()), err)
	}
	token, err := bearer.ReadFile(path, bearer.ClosedToOthers)
	if err != nil {
		return "", fmt.Errorf("%s: %v", shortName(o.Key()), err)
	}
	return token, nil
}
