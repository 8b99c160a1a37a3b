package spec

import (
	"cmp"
	"fmt"
	"strings"
)

// Group and Version name the API that manifests are written against.
const (
	Group      = "proc-controller.dev"
	Version    = "v1alpha1"
	APIVersion = Group + "/" + Version
)

// Kind is the kind of a workload.
type Kind string

// Agent: a program that uses servers. MCPServer: one that speaks MCP.
const (
	KindAgent     Kind = "Agent"
	KindMCPServer Kind = "MCPServer"
)

// Key names a workload: its kind and its name, as the manifest gives them.
// Keys are comparable and order by kind, then name.
type Key struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
}

// String gives the form that users read and type: MCPServer/files.
func (k Key) String() string { return string(k.Kind) + "/" + k.Name }

// Compare orders keys by kind, then name.
func (k Key) Compare(o Key) int {
	if c := cmp.Compare(k.Kind, o.Kind); c != 0 {
		return c
	}
	return cmp.Compare(k.Name, o.Name)
}

// ParseKind takes a kind as people type it: agent, agents, mcpserver,
// mcpservers, mcp, in any case.
func ParseKind(s string) (Kind, error) {
	switch strings.ToLower(s) {
	case "agent", "agents":
		return KindAgent, nil
	case "mcpserver", "mcpservers", "mcp":
		return KindMCPServer, nil
	}
	near := ""
	if k := nearest(s, []string{"agent", "agents", "mcp", "mcpserver", "mcpservers"}); k != "" {
		near = " (did you mean " + k + "?)"
	}
	return "", fmt.Errorf("unknown kind %q%s: use agent or mcpserver", shorten(s), near)
}

// ParseKey takes a key as people type it: MCPServer/files, mcp/files.
func ParseKey(s string) (Key, error) {
	kind, name, found := strings.Cut(s, "/")
	if !found {
		return Key{}, fmt.Errorf("cannot take %q for a workload: write KIND/NAME", shorten(s))
	}
	k, err := ParseKind(kind)
	if err != nil {
		return Key{}, err
	}
	if why := checkDNSLabel(name); why != "" {
		return Key{}, fmt.Errorf("cannot take %q for a name: it %s", shorten(name), why)
	}
	return Key{k, name}, nil
}

// NameVar is the marker variable that holds the name of a workload.
func (k Key) NameVar() string {
	if k.Kind == KindAgent {
		return EnvAgentName
	}
	return EnvMCPService
}
