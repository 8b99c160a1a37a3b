package spec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// EnvMCPConfig names the file that tells an agent where its MCP servers are.
const EnvMCPConfig = "MCP_CONFIG"

// ServerEndpoint is where an agent finds one of its MCP servers.
type ServerEndpoint struct {
	Name string
	Type Transport
	// URL is empty where it is not known; the server is then not in the file.
	URL string
	// TokenFile holds the token that the server wants to see; empty where it wants
	// none. A path that is relative counts from Dir.
	TokenFile, Dir string
}

// loopback begins the URL of whatever runs on this machine.
const loopback = "http://127.0.0.1:"

// On says that the URL is one of these ports of this machine.
func (e *ServerEndpoint) On(ports PortMap) bool {
	return slices.ContainsFunc(ports, func(p NamedPort) bool {
		return strings.HasPrefix(e.URL, loopback+strconv.Itoa(int(p.Port))+"/")
	})
}

// Endpoint is where an instance with these ports is reached, under a name. What
// m leaves out has its default, also where all of it is nil. It is false where
// the port that is meant is not among them.
func (m *MCP) Endpoint(name string, ports PortMap) (ServerEndpoint, bool) {
	if m == nil {
		m = &MCP{}
	}
	path := "/mcp"
	if m.Transport == TransportSSE {
		path = "/sse"
	}
	typ := cmp.Or(m.Transport, TransportHTTP)
	if m.IsStdio() {
		typ = TransportHTTP // which its bridge speaks
	}
	port, ok := m.port(ports)
	e := ServerEndpoint{Name: name, Type: typ, URL: loopback + strconv.Itoa(int(port)) + cmp.Or(m.Path, path)}
	if m.Auth != nil {
		e.TokenFile = m.Auth.TokenFile
	}
	return e, ok
}

// port is the one that is meant: by number, by name, or by its default.
func (m *MCP) port(ports PortMap) (uint16, bool) {
	if n, ok := ports.Resolve(m.Port); ok || m.Port != "" {
		return n, ok
	}
	if len(ports) == 1 {
		return ports[0].Port, true
	}
	return ports.Lookup("http")
}

// MCPConfigFile is what became of the file of an agent.
type MCPConfigFile struct {
	Path string
	// Servers are what is in it now, in the order of the manifest.
	Servers []ServerEndpoint
	// Written says that it had to be changed.
	Written bool
}

// mcpConfig is the file, in the form that most MCP clients share.
type mcpConfig struct {
	MCPServers map[string]mcpConfigServer `json:"mcpServers"`
}

type mcpConfigServer struct {
	Type    Transport         `json:"type"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
}

// How a token is shown (RFC 6750, 2.1).
const (
	authorization = "Authorization"
	bearer        = "Bearer "
)

// EncodeMCPConfig gives the content of the file: the same for the same servers,
// in any order. Tokens are those of the servers that want one, by name.
func EncodeMCPConfig(servers []ServerEndpoint, tokens map[string]string) []byte {
	c := mcpConfig{map[string]mcpConfigServer{}}
	for _, s := range servers {
		if s.URL == "" {
			continue
		}
		entry := mcpConfigServer{Type: s.Type, URL: s.URL}
		if token := tokens[s.Name]; token != "" {
			entry.Headers = map[string]string{authorization: bearer + token}
		}
		c.MCPServers[s.Name] = entry
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // an & in a URL
	enc.SetIndent("", "  ")
	_ = enc.Encode(c) // texts alone, which cannot fail
	return b.Bytes()
}

// WithKnown fills in, from the content of a file, the servers whose URL is not
// known. Of content that is no such file nothing is taken.
func WithKnown(servers []ServerEndpoint, content []byte) []ServerEndpoint {
	var c mcpConfig
	if json.Unmarshal(content, &c) != nil {
		return servers
	}
	servers = slices.Clone(servers)
	for i := range servers {
		s := &servers[i]
		if known, ok := c.MCPServers[s.Name]; ok && s.URL == "" {
			s.Type, s.URL = known.Type, known.URL
		}
	}
	return servers
}

// KnownTokens gives the tokens in the content of a file, by the name of the
// server.
func KnownTokens(content []byte) map[string]string {
	var c mcpConfig
	tokens := map[string]string{}
	if json.Unmarshal(content, &c) != nil {
		return tokens
	}
	for name, s := range c.MCPServers {
		if token, ok := strings.CutPrefix(s.Headers[authorization], bearer); ok {
			tokens[name] = token
		}
	}
	return tokens
}
