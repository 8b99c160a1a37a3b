package spec

import "time"

// Probe is a question that a workload is asked again and again. Exactly one of
// the first five fields says how. The fields and defaults are those of a Pod's
// container probe.
type Probe struct {
	// Exec runs a command.
	Exec *ExecAction `json:"exec,omitempty"`
	// HTTPGet asks for a page.
	HTTPGet *HTTPGetAction `json:"httpGet,omitempty"`
	// TCPSocket opens a connection.
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty"`
	// MCP speaks the protocol: a handshake, and a list of the tools. What is left out
	// is taken from spec.mcp.
	MCP *MCP `json:"mcp,omitempty"`
	// A2A asks for the card of the agent. What is left out is taken from spec.a2a.
	A2A *A2A `json:"a2a,omitempty"`

	// InitialDelaySeconds pass before the first attempt. Default 0.
	InitialDelaySeconds int32 `json:"initialDelaySeconds,omitempty"`
	// PeriodSeconds lie between the beginnings of two attempts. Default 10. Until
	// a startup or readiness probe has succeeded for the first time it is tried
	// more often, so that a workload is known to be ready soon after it is.
	PeriodSeconds int32 `json:"periodSeconds,omitempty"`
	// TimeoutSeconds bound one attempt. Default 1; 10 for MCP and A2A; at most
	// PeriodSeconds.
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// SuccessThreshold is how many attempts in a row have to succeed after a
	// failure. Default 1.
	SuccessThreshold int32 `json:"successThreshold,omitempty"`
	// FailureThreshold is how many attempts in a row have to fail. Default 3; 1 for
	// the readiness that mcp and a2a imply.
	FailureThreshold int32 `json:"failureThreshold,omitempty"`
}

// Period is PeriodSeconds as a duration.
func (p *Probe) Period() time.Duration { return time.Duration(p.PeriodSeconds) * time.Second }

// Timeout is TimeoutSeconds as a duration.
func (p *Probe) Timeout() time.Duration { return time.Duration(p.TimeoutSeconds) * time.Second }

// ExecAction runs a command with the environment and the directory of the
// workload. Exit code 0 is success.
type ExecAction struct {
	// Command is the program and its arguments; no shell is in between.
	Command []string `json:"command"`
}

// HTTPGetAction asks for a page. A status from 200 to 399 is success.
type HTTPGetAction struct {
	// Path begins with a slash. Default /.
	Path string `json:"path,omitempty"`
	// Port is the name of a declared port, or a number. Default: the only one, or the
	// one named http, or the one without a name.
	//
	// See PortMap.Resolve.
	Port string `json:"port,omitempty" unquoted:"number"`
	// Host is what is connected to. Default 127.0.0.1.
	Host string `json:"host,omitempty"`
	// Scheme is HTTP or HTTPS; a certificate is not checked. Default HTTP.
	Scheme Scheme `json:"scheme,omitempty"`
	// HTTPHeaders are sent along.
	HTTPHeaders []HTTPHeader `json:"httpHeaders,omitempty"`
}

// Scheme is how a page is asked for.
type Scheme string

// HTTP, or HTTPS without a look at the certificate.
const (
	SchemeHTTP  Scheme = "HTTP"
	SchemeHTTPS Scheme = "HTTPS"
)

// HTTPHeader is one header of a request.
type HTTPHeader struct {
	// Name of the header.
	Name string `json:"name"`
	// Value is one line.
	Value string `json:"value"`
}

// TCPSocketAction opens a connection, and closes it.
type TCPSocketAction struct {
	// Port is the name of a declared port, or a number. Default: the only one, or the
	// one named http, or the one without a name.
	//
	// See PortMap.Resolve.
	Port string `json:"port,omitempty" unquoted:"number"`
	// Host is what is connected to. Default 127.0.0.1.
	Host string `json:"host,omitempty"`
}

// MCP is how an MCP server is spoken to. Of spec.mcp of a stdio server any change
// restarts.
type MCP struct {
	// Transport is how the messages travel: http, sse, or stdio for a server that
	// speaks over its standard input and output, which the controller then offers at
	// a URL. Default http.
	//
	// With stdio the main process is a bridge, the program of the controller itself,
	// and Command is its child.
	Transport Transport `json:"transport,omitempty"`
	// Port is the name of a declared port, or a number. Default: the only one, or the
	// one named http, or the one without a name.
	//
	// See PortMap.Resolve.
	Port string `json:"port,omitempty" unquoted:"number"`
	// Path of the endpoint. Default /mcp, for sse /sse.
	Path string `json:"path,omitempty"`
	// Protocol is the era of MCP that the server is spoken to in. Default Auto.
	Protocol Protocol `json:"protocol,omitempty"`
	// Sharing says how many sessions one process of a stdio server serves. Default
	// Shared.
	Sharing Sharing `json:"sharing,omitempty"`
	// MaxSessions is how many processes of a stdio server there may be at a time with
	// sharing: PerSession. Default 16.
	MaxSessions int32 `json:"maxSessions,omitempty"`
	// IdleTimeout is how long a session with a stdio server lives without a request
	// and without a stream that is open. Default 30m. With sharing: PerSession one whose
	// client has hung up on its stream, as by a crash, lives for about a minute.
	IdleTimeout Duration `json:"idleTimeout,omitempty"`
	// Auth says what the clients of a stdio server have to show. Default: nothing,
	// and whoever can connect to 127.0.0.1 may use the server.
	Auth *MCPAuth `json:"auth,omitempty"`
}

// Sharing says how many sessions one process of a stdio server serves.
type Sharing string

// Shared: one process serves all sessions, and asks its clients nothing.
// PerSession: each session has a process of its own, which may ask its client.
const (
	SharingShared     Sharing = "Shared"
	SharingPerSession Sharing = "PerSession"
)

// MCPAuth is what the clients of a stdio server have to show.
type MCPAuth struct {
	// TokenFile holds the token that clients send as "Authorization: Bearer TOKEN";
	// relative to the manifest's directory, or under ~. Others must not be able to
	// read it. It is read again when it changes.
	TokenFile string `json:"tokenFile"`
}

// IsStdio says that the server speaks over its standard input and output, and is
// started behind a bridge.
func (m *MCP) IsStdio() bool { return m != nil && m.Transport == TransportStdio }

// Transport is how the messages of MCP travel.
type Transport string

// http is Streamable HTTP, sse is HTTP+SSE of 2024-11-05, stdio is standard input
// and output.
const (
	TransportHTTP  Transport = "http"
	TransportSSE   Transport = "sse"
	TransportStdio Transport = "stdio"
)

// Protocol is the era of MCP that a server is spoken to in.
type Protocol string

// Auto: it is found out. Legacy: with a session (initialize). Modern: without.
const (
	ProtocolAuto   Protocol = "Auto"
	ProtocolLegacy Protocol = "Legacy"
	ProtocolModern Protocol = "Modern"
)

// A2A is where an agent shows its card.
type A2A struct {
	// Port is the name of a declared port, or a number. Default: the only one, or the
	// one named http, or the one without a name.
	//
	// See PortMap.Resolve.
	Port string `json:"port,omitempty" unquoted:"number"`
	// Path of the card. Default: /.well-known/agent-card.json, and where that is
	// not found /.well-known/agent.json.
	Path string `json:"path,omitempty"`
}

// Dependency is a workload that has to be there first.
type Dependency struct {
	// Kind of the other workload.
	Kind Kind `json:"kind"`
	// Name of the other workload.
	Name string `json:"name"`
	// Condition is what has to be true of it. Default Ready.
	Condition DependencyCondition `json:"condition,omitempty"`
	// OnRestart says what happens here when it is started anew. Default Ignore.
	OnRestart OnRestart `json:"onRestart,omitempty"`
}

// Key is the workload that is meant.
func (d *Dependency) Key() Key { return Key{d.Kind, d.Name} }

// DependencyCondition is what has to be true of a dependency.
type DependencyCondition string

// Started: its program runs. Ready: it can be used. Completed: it has done its work.
const (
	DependencyStarted   DependencyCondition = "Started"
	DependencyReady     DependencyCondition = "Ready"
	DependencyCompleted DependencyCondition = "Completed"
)

// OnRestart says what a new start of a dependency means for its dependents.
type OnRestart string

// Ignore: nothing. Restart: this workload is started anew, too.
const (
	OnRestartIgnore  OnRestart = "Ignore"
	OnRestartRestart OnRestart = "Restart"
)

// ServerRef names an MCPServer.
type ServerRef struct {
	// Name of an MCPServer.
	Name string `json:"name"`
}

// HasDependencies says that there are Dependencies.
func (s *Spec) HasDependencies() bool { return len(s.DependsOn)+len(s.MCPServers) > 0 }

// Dependencies are all that a workload waits for: DependsOn, and Ready for each
// of MCPServers that is not in it.
func (s *Spec) Dependencies() []Dependency {
	if len(s.MCPServers) == 0 {
		return s.DependsOn
	}
	all := append([]Dependency(nil), s.DependsOn...)
next:
	for _, r := range s.MCPServers {
		for i := range s.DependsOn {
			if s.DependsOn[i].Key() == (Key{KindMCPServer, r.Name}) {
				continue next
			}
		}
		all = append(all, Dependency{
			Kind: KindMCPServer, Name: r.Name, Condition: DependencyReady, OnRestart: OnRestartIgnore,
		})
	}
	return all
}

// Strategy is how a new program takes the place of the former one.
type Strategy struct {
	// Type of the replacement. Default Recreate.
	Type StrategyType `json:"type,omitempty"`
	// ProgressDeadlineSeconds is how long a new instance may take to be ready
	// beside the former one. Default 60; only for BlueGreen.
	ProgressDeadlineSeconds int32 `json:"progressDeadlineSeconds,omitempty"`
}

// StrategyType names a strategy.
type StrategyType string

// Recreate: the former one is stopped first. BlueGreen: the new one is started
// beside it, and the former one is stopped once the new one is ready.
const (
	Recreate  StrategyType = "Recreate"
	BlueGreen StrategyType = "BlueGreen"
)

// Lifecycle are actions at turns of a workload's life.
type Lifecycle struct {
	// PreStop is done before the stop signal, within the grace period.
	PreStop *Hook `json:"preStop,omitempty"`
}

// Hook is one action. Exactly one field is set.
type Hook struct {
	// Exec runs a command.
	Exec *ExecAction `json:"exec,omitempty"`
	// HTTPGet asks for a page.
	HTTPGet *HTTPGetAction `json:"httpGet,omitempty"`
}
