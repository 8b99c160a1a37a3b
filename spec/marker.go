package spec

import "strings"

// The marker variables that every child carries. Each is compared whole.
const (
	EnvSubprocess = "PROC_CONTROLLER_SUBPROCESS" // always "1"
	EnvOwner      = "PROC_CONTROLLER_OWNER"
	EnvInstance   = "PROC_CONTROLLER_INSTANCE"
	EnvSpec       = "PROC_CONTROLLER_SPEC"
	EnvOnExit     = "PROC_CONTROLLER_ON_EXIT"
	EnvPorts      = "PROC_CONTROLLER_PORTS"
	EnvAgentName  = "AGENT_NAME"
	EnvMCPService = "MCP_SERVICE_ID"
)

// reservedPrefix begins every variable that is the controller's own, but for
// the two that give a name.
const reservedPrefix = "PROC_CONTROLLER_"

// isMarkerName tells the variables that are the controller's own.
func isMarkerName(name string) bool {
	return strings.HasPrefix(name, reservedPrefix) || name == EnvAgentName || name == EnvMCPService
}

// Markers are the marker variables of one process, taken from its environment.
// A field is empty where the variable is missing; nothing is inferred.
type Markers struct {
	Subprocess bool // EnvSubprocess is there and is exactly "1"
	Owner      Owner
	Instance   Instance
	Hash       Hash
	OnExit     OnControllerExit
	Ports      PortMap
	AgentName  string
	MCPService string
}

// MarkersFor gives the markers of a new instance of an object.
func MarkersFor(o *Object, owner Owner, in Instance, h Hash, ports PortMap) Markers {
	m := Markers{Subprocess: true, Owner: owner, Instance: in, Hash: h, OnExit: o.Spec.OnControllerExit, Ports: ports}
	if o.Kind == KindAgent {
		m.AgentName = o.Metadata.Name
	} else {
		m.MCPService = o.Metadata.Name
	}
	return m
}

// Key gives the workload that the markers name. There is one only where
// exactly one of the two name variables is set, to a name that a manifest may
// have.
func (m Markers) Key() (Key, bool) {
	k := Key{KindAgent, m.AgentName}
	if m.AgentName == "" {
		k = Key{KindMCPServer, m.MCPService}
	}
	if m.AgentName != "" && m.MCPService != "" || checkDNSLabel(k.Name) != "" {
		return Key{}, false
	}
	return k, true
}

// Environ gives the markers as NAME=value, always in the same order; those
// that are empty are left out. ParseMarkers is its reverse.
func (m Markers) Environ() []string {
	out := make([]string, 0, markerCount)
	if m.Subprocess {
		out = append(out, EnvSubprocess+"=1")
	}
	for _, v := range [...]struct{ name, value string }{
		{EnvOwner, string(m.Owner)},
		{EnvInstance, string(m.Instance)},
		{EnvSpec, string(m.Hash)},
		{EnvOnExit, string(m.OnExit)},
		{EnvPorts, m.Ports.String()},
		{EnvAgentName, m.AgentName},
		{EnvMCPService, m.MCPService},
	} {
		if v.value != "" {
			out = append(out, v.name+"="+v.value)
		}
	}
	return out
}
