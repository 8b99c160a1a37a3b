package spec

import "reflect"

// Object is one manifest document: a workload that should run.
// After Decode every defaulted field is filled in, and nothing changes it again.
//
// The tag unquoted:"number" marks text that may also be written as a plain
// number, as a Kubernetes user writes quantities.
type Object struct {
	APIVersion string   `json:"apiVersion"`
	Kind       Kind     `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Key is the identity of the workload.
func (o *Object) Key() Key { return Key{o.Kind, o.Metadata.Name} }

// Equal says that two objects mean the same, whatever way they were written in.
// Both must come from Decode.
func (o *Object) Equal(p *Object) bool { return reflect.DeepEqual(o, p) }

// Metadata is the part of a manifest that names and labels.
type Metadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Spec is what the user wants. Field names follow the Pod's container where it
// has one; the defaults stand in Defaulted.
type Spec struct {
	// Command is the program and its first arguments. Required.
	Command []string `json:"command"`
	// Args are appended to Command.
	Args []string `json:"args,omitempty"`
	// WorkingDir is the child's directory; relative means relative to the
	// manifest's directory, ~ is the home directory. Default: the manifest's
	// directory.
	WorkingDir string `json:"workingDir,omitempty"`
	// Env are variables set for the child, in order; later ones win.
	Env []EnvVar `json:"env,omitempty"`
	// EnvFrom are env files; Env wins over them, a later file over an earlier.
	EnvFrom []EnvFromSource `json:"envFrom,omitempty"`
	// InheritEnv are names or globs of what is taken from the controller's own
	// environment. Default: everything ("*"). An empty list takes nothing.
	InheritEnv []string `json:"inheritEnv"`
	// User is the user that the workload runs as, where the controller runs as
	// root: NAME, UID, NAME:GROUP or UID:GID. Default: the controller's own.
	User string `json:"user,omitempty" unquoted:"number"`
	// Ports are the TCP ports that the workload listens on.
	Ports []Port `json:"ports,omitempty"`
	// Replicas is the number of main processes wanted. Default 1.
	Replicas *int32 `json:"replicas,omitempty"`
	// Suspend stops the workload and keeps it stopped.
	Suspend bool `json:"suspend,omitempty"`
	// RestartPolicy says after which exits the workload is started again.
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	// Backoff spaces the starts after crashes.
	Backoff Backoff `json:"backoff"`
	// StopSignal is sent first when the workload is stopped. Default SIGTERM.
	// After Decode it is in the form SIGTERM.
	StopSignal string `json:"stopSignal,omitempty" unquoted:"number"`
	// TerminationGracePeriodSeconds passes between the stop signal and SIGKILL.
	// Default 10.
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
	// OnControllerExit says what becomes of the workload when the controller
	// ends. Default Stop.
	OnControllerExit OnControllerExit `json:"onControllerExit,omitempty"`
	// KillMode says whether a stop reaches what left the group and session.
	// Default Tree.
	KillMode KillMode `json:"killMode,omitempty"`
	// Scope says whether the workload gets a cgroup of its own. Default Auto.
	Scope ScopePolicy `json:"scope,omitempty"`
	// Resources are limits, which need a scope.
	Resources Resources `json:"resources,omitzero"`
	// StartupProbe holds back the other two probes until it has succeeded, and
	// bounds how long a start may take: failureThreshold × periodSeconds.
	StartupProbe *Probe `json:"startupProbe,omitempty"`
	// ReadinessProbe says whether the workload can be used.
	ReadinessProbe *Probe `json:"readinessProbe,omitempty"`
	// LivenessProbe says whether the workload has to be restarted.
	LivenessProbe *Probe `json:"livenessProbe,omitempty"`
	// MCP is how an MCPServer speaks its protocol. Without a readiness and a
	// liveness probe they are that it does, once it has done so within ten minutes
	// of its start, unless a startup probe says otherwise.
	MCP *MCP `json:"mcp,omitempty"`
	// A2A is where an Agent shows its card. Without a readiness and a liveness
	// probe its readiness is that it does.
	A2A *A2A `json:"a2a,omitempty"`
	// DependsOn are workloads that have to be there before this one starts.
	DependsOn []Dependency `json:"dependsOn,omitempty"`
	// MCPServers are the servers that an Agent uses. It starts once they are
	// ready, and finds their endpoints in the file that MCP_CONFIG names.
	MCPServers []ServerRef `json:"mcpServers,omitempty"`
	// Strategy is how a new program takes the place of the former one.
	Strategy Strategy `json:"strategy,omitzero"`
	// Lifecycle are actions at turns of the workload's life.
	Lifecycle Lifecycle `json:"lifecycle,omitzero"`
	// SuccessExitCodes are exit codes that mean success beside 0.
	SuccessExitCodes []int32 `json:"successExitCodes,omitempty"`
	// Logs bounds what is kept of the output.
	Logs Logs `json:"logs,omitzero"`
}

// EnvVar is one variable: a value, or a file that holds it.
type EnvVar struct {
	Name      string        `json:"name"`
	Value     string        `json:"value,omitempty"`
	ValueFrom *EnvVarSource `json:"valueFrom,omitempty"`
}

// EnvVarSource is where the value of a variable comes from.
type EnvVarSource struct {
	File *FileSource `json:"file,omitempty"`
}

// EnvFromSource is a file of NAME=value lines.
type EnvFromSource struct {
	File *FileSource `json:"file,omitempty"`
}

// FileSource is a path, relative to the manifest's directory or under ~.
type FileSource struct {
	Path string `json:"path"`
	// Optional makes a missing file the same as an empty one.
	Optional bool `json:"optional,omitempty"`
}

// Port is a TCP port. Port 0 lets the controller choose a free one.
type Port struct {
	Name string `json:"name,omitempty"`
	Port int32  `json:"port"`
}

// Backoff is how starts are spaced after crashes: Initial × Factor^(n-1), at
// most Max; the count n returns to nothing after ResetAfter of running.
type Backoff struct {
	Initial    Duration `json:"initial"`
	Max        Duration `json:"max"`
	Factor     float64  `json:"factor"`
	ResetAfter Duration `json:"resetAfter"`
}

// Resources are the limits of a workload's scope.
type Resources struct {
	Limits Limits `json:"limits,omitzero"`
}

// Limits are Kubernetes quantities; empty means no limit.
type Limits struct {
	Memory string `json:"memory,omitempty" unquoted:"number"` // bytes: 512Mi, 1Gi
	CPU    string `json:"cpu,omitempty" unquoted:"number"`    // cores: "1.5", 500m
	PIDs   *int64 `json:"pids,omitempty"`                     // processes and threads
}

// RestartPolicy says after which exits a workload is started again.
type RestartPolicy string

// The restart policies.
const (
	RestartAlways    RestartPolicy = "Always"
	RestartOnFailure RestartPolicy = "OnFailure"
	RestartNever     RestartPolicy = "Never"
)

// OnControllerExit says what becomes of a workload when the controller ends.
type OnControllerExit string

// Stop dies with the controller; Keep lives on and is adopted by the next.
const (
	ExitStop OnControllerExit = "Stop"
	ExitKeep OnControllerExit = "Keep"
)

// KillMode says how far a stop reaches.
type KillMode string

// Tree stops every member; Group leaves what left both group and session.
const (
	KillTree  KillMode = "Tree"
	KillGroup KillMode = "Group"
)

// ScopePolicy says whether a workload must have a cgroup of its own.
type ScopePolicy string

// The scope policies.
const (
	ScopeAuto     ScopePolicy = "Auto"
	ScopeRequired ScopePolicy = "Required"
	ScopeOff      ScopePolicy = "Off"
)
