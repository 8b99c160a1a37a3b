package spec

import "time"

// Phase is the one-word summary of a workload.
type Phase string

// The phases.
const (
	PhasePending   Phase = "Pending"
	PhaseStarting  Phase = "Starting"
	PhaseRunning   Phase = "Running"
	PhaseStopping  Phase = "Stopping"
	PhaseBackOff   Phase = "BackOff"
	PhaseCompleted Phase = "Completed"
	PhaseFailed    Phase = "Failed"
	PhaseSuspended Phase = "Suspended"
	PhaseUnknown   Phase = "Unknown"
)

// ConditionType names a condition.
type ConditionType string

// The conditions. Ready is the sum of the others: the one to wait for.
const (
	CondAccepted    ConditionType = "Accepted"
	CondAvailable   ConditionType = "Available"
	CondVerified    ConditionType = "Verified"
	CondProgressing ConditionType = "Progressing"
	CondStalled     ConditionType = "Stalled"
	CondReady       ConditionType = "Ready"
)

// Conditions are all of them, in the order in which they are shown.
var Conditions = []ConditionType{CondAccepted, CondAvailable, CondVerified, CondProgressing, CondStalled, CondReady}

// ConditionStatus is True, False or Unknown.
type ConditionStatus string

// The values of a condition.
const (
	True    ConditionStatus = "True"
	False   ConditionStatus = "False"
	Unknown ConditionStatus = "Unknown"
)

// Reason is a CamelCase word for programs. The same constant stands in status,
// events, logs and tests; reason.go lists them.
type Reason string

// Condition is one aspect of a workload, as in Kubernetes.
type Condition struct {
	Type    ConditionType   `json:"type"`
	Status  ConditionStatus `json:"status"`
	Reason  Reason          `json:"reason"`
	Message string          `json:"message,omitempty"`
	// LastTransitionTime moves only when Status does.
	LastTransitionTime time.Time `json:"lastTransitionTime"`
	ObservedHash       Hash      `json:"observedHash,omitempty"`
}

// Status is what is true of a workload now.
type Status struct {
	Phase      Phase            `json:"phase"`
	Reason     Reason           `json:"reason,omitempty"`  // where something is wrong or awaited
	Message    string           `json:"message,omitempty"` // one line for a person
	Ready      bool             `json:"-"`
	PID        int              `json:"pid,omitempty"`
	Restarts   int              `json:"restarts"`
	Ports      PortMap          `json:"ports,omitempty"`
	Hash       Hash             `json:"hash,omitempty"` // of the manifest, not of what runs
	Conditions []Condition      `json:"conditions,omitempty"`
	Instances  []InstanceStatus `json:"instances,omitempty"`
	// LastTermination is the last end of a main process, if one is known.
	LastTermination *Termination `json:"lastTermination,omitempty"`
	// LastDeath is the record of the last unplanned death.
	LastDeath *Dossier `json:"lastDeath,omitempty"`
	// Server is what an MCPServer has said of itself, Card what an Agent's card
	// says; nil before it was verified.
	Server *ServerInfo `json:"server,omitempty"`
	Card   *CardInfo   `json:"card,omitempty"`
	// MCPConfig is the path of the file that tells an Agent where its MCP servers
	// are.
	MCPConfig string `json:"mcpConfig,omitempty"`
	// RestartAskedAt is when a restart was last asked for; zero for never.
	RestartAskedAt time.Time `json:"restartAskedAt,omitzero"`
	// SuspendedAt is since when it is suspended at runtime, whatever its manifest
	// says; zero where it is not.
	SuspendedAt time.Time `json:"suspendedAt,omitzero"`
	// Warnings are what a person should mend although the workload runs.
	Warnings []Warning `json:"warnings,omitempty"`
}

// Warning is something to mend that keeps nothing from running.
type Warning struct {
	Reason  Reason `json:"reason"`
	Message string `json:"message"`
}

// ServerInfo is what an MCP server answers when it is greeted.
type ServerInfo struct {
	Name            string `json:"name,omitempty"`
	Version         string `json:"version,omitempty"`
	ProtocolVersion string `json:"protocolVersion,omitempty"`
	Era             Era    `json:"era,omitempty"`
	Tools           int    `json:"tools"`
	URL             string `json:"url"`
}

// Era is one of the two ways in which MCP is spoken: with a handshake, up to
// revision 2025-11-25, or without one, from 2026-07-28 on.
type Era string

// The eras.
const (
	EraLegacy Era = "Legacy"
	EraModern Era = "Modern"
)

// CardInfo is what an A2A agent's card says.
type CardInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	URL     string `json:"url"`
	Skills  int    `json:"skills"`
}

// InstanceStatus is one spawn of a workload.
type InstanceStatus struct {
	Instance  Instance  `json:"instance"`
	PID       int       `json:"pid,omitempty"`
	StartedAt time.Time `json:"startedAt"`
	Restarts  int       `json:"restarts"`
	Scope     string    `json:"scope,omitempty"` // "systemd: UNIT", "cgroup: PATH", "off: why"
	Ports     PortMap   `json:"ports,omitempty"`
	Hash      Hash      `json:"hash"`
	Ready     bool      `json:"ready"`
	Log       string    `json:"log,omitempty"` // path of the output file
	Members   int       `json:"members"`       // processes beside the main one
	// Bridge is what the main process last said, where it is the bridge of a stdio
	// server.
	Bridge *BridgeStatus `json:"bridge,omitempty"`
	// Outdated says that it is to be replaced: by another program, or because a
	// restart was asked for after it had been started.
	Outdated bool `json:"outdated,omitempty"`
}

// BridgeStatus is how busy a bridge is.
type BridgeStatus struct {
	// ServerPID is the process that was started for the server; 0 where there is
	// none, or one for each session.
	ServerPID int `json:"serverPID,omitempty"`
	Sessions  int `json:"sessions"` // of clients
	Servers   int `json:"servers"`  // processes that serve them
}

// Termination is how a main process ended.
type Termination struct {
	// ExitCode is -1 where a signal ended it or the code could not be had.
	ExitCode int    `json:"exitCode"`
	Signal   string `json:"signal,omitempty"`
	// Reason is Error, OOMKilled, Completed, Stopped, Unknown, or that of the
	// probe which gave it up: LivenessFailed, StartupFailed.
	Reason Reason `json:"reason"`
	// Message is what the probe said that gave it up.
	Message    string    `json:"message,omitempty"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt"`
	Output     string    `json:"output,omitempty"` // the last line that it wrote
}
