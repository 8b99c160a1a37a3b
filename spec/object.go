package spec

import "reflect"

// Object is one manifest document: a workload that should run.
//
// The first paragraph of the comments on these types and on their fields is what
// users are told of them, by "explain", by their editor and in docs/manifests.md:
// run hack/generate after a change. What follows is for readers of the code.
//
// After Decode every defaulted field is filled in, and nothing changes it again.
//
// The tag unquoted:"number" marks text that may also be written as a plain
// number, as a Kubernetes user writes quantities.
type Object struct {
	// APIVersion is proc-controller.dev/v1alpha1. An object of another API group is
	// skipped.
	APIVersion string `json:"apiVersion"`
	// Kind is Agent or MCPServer. Together with the name it says which workload this
	// is: another kind is another workload.
	Kind Kind `json:"kind"`
	// Metadata names and labels the workload.
	Metadata Metadata `json:"metadata"`
	// Spec says what is to run, and how.
	Spec Spec `json:"spec"`
}

// Key is the identity of the workload.
func (o *Object) Key() Key { return Key{o.Kind, o.Metadata.Name} }

// Equal says that two objects mean the same, whatever way they were written in.
// Both must come from Decode.
func (o *Object) Equal(p *Object) bool { return reflect.DeepEqual(o, p) }

// Metadata is the part of a manifest that names and labels.
type Metadata struct {
	// Name is a DNS label: at most 63 lower-case letters, digits and dashes, with a
	// letter or digit at both ends. Another name is another workload.
	Name string `json:"name"`
	// Labels are what workloads are selected by, as in Kubernetes.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are for people and tools; at most 256 KiB together.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Spec is what the user wants. Field names follow the Pod's container where it
// has one.
//
// The defaults stand in Defaulted.
type Spec struct {
	// Command is the program and its first arguments. A program without a slash is
	// looked for in the PATH of the workload. $(NAME) is replaced by the value of a
	// variable.
	Command []string `json:"command"`
	// Args are appended to Command. $(NAME) is replaced as there.
	Args []string `json:"args,omitempty"`
	// WorkingDir is the directory that the program runs in; relative means relative
	// to the manifest's directory, ~ is the home directory. Default: the manifest's
	// directory.
	WorkingDir string `json:"workingDir,omitempty"`
	// Env are variables set for the workload, in order; later ones win, and may
	// refer to earlier ones as $(NAME).
	Env []EnvVar `json:"env,omitempty"`
	// EnvFrom are files of NAME=value lines; Env wins over them, a later file over
	// an earlier one. What is in them counts: a change of it restarts.
	EnvFrom []EnvFromSource `json:"envFrom,omitempty"`
	// InheritEnv are names or globs of what is taken from the controller's own
	// environment. Default: everything ("*"). An empty list takes nothing.
	InheritEnv []string `json:"inheritEnv"`
	// User is the user that the workload runs as, where the controller runs as
	// root: NAME, UID, NAME:GROUP or UID:GID. Default: the controller's own.
	User string `json:"user,omitempty" unquoted:"number"`
	// Ports are the TCP ports that the workload listens on.
	Ports []Port `json:"ports,omitempty"`
	// Replicas is the number of main processes wanted. Default 1. With more than
	// one, ports have to be 0.
	Replicas *int32 `json:"replicas,omitempty"`
	// Suspend stops the workload and keeps it stopped.
	Suspend bool `json:"suspend,omitempty"`
	// RestartPolicy says after which exits the workload is started again. Default
	// Always.
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	// Backoff spaces the starts after crashes.
	Backoff Backoff `json:"backoff"`
	// StopSignal is sent first when the workload is stopped, written as SIGTERM, TERM
	// or 15. Default SIGTERM.
	//
	// After Decode it is in the form SIGTERM.
	StopSignal string `json:"stopSignal,omitempty" unquoted:"number"`
	// TerminationGracePeriodSeconds pass between the stop signal and SIGKILL.
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
	// SuccessExitCodes are exit codes, 1 to 255, that mean success beside 0.
	SuccessExitCodes []int32 `json:"successExitCodes,omitempty"`
	// Logs bounds what is kept of the output.
	Logs Logs `json:"logs,omitzero"`
}

// EnvVar is one variable: a value, or a file that holds it.
type EnvVar struct {
	// Name of the variable. Those that the controller sets itself (PROC_CONTROLLER_…,
	// AGENT_NAME, MCP_SERVICE_ID) are not allowed.
	Name string `json:"name"`
	// Value is the text. $(NAME) is replaced by the value of another variable; $$ is
	// one dollar sign.
	Value string `json:"value,omitempty"`
	// ValueFrom is where the value is read from instead.
	ValueFrom *EnvVarSource `json:"valueFrom,omitempty"`
}

// EnvVarSource is where the value of a variable comes from.
type EnvVarSource struct {
	// File holds the value and nothing else; a line end after it does not count. A
	// change of what is in it restarts.
	File *FileSource `json:"file,omitempty"`
}

// EnvFromSource is a file of NAME=value lines.
type EnvFromSource struct {
	// File has a variable on each line. Blank lines and those that begin with # are
	// passed over; nothing in it is replaced.
	File *FileSource `json:"file,omitempty"`
}

// FileSource is a path, relative to the manifest's directory or under ~.
type FileSource struct {
	// Path of the file.
	Path string `json:"path"`
	// Optional makes a missing file the same as an empty one.
	Optional bool `json:"optional,omitempty"`
}

// Port is a TCP port that the workload listens on.
type Port struct {
	// Name tells several ports apart. A port named http is $PORT_HTTP and
	// $(PORT_HTTP) to the workload; the first is $PORT, too.
	Name string `json:"name,omitempty"`
	// Port is the number, or 0 for a free one, which tends to be the same at each
	// start.
	Port int32 `json:"port"`
}

// Backoff is how starts are spaced after crashes: Initial × Factor^(n-1), at
// most Max; the count n returns to nothing after ResetAfter of running.
type Backoff struct {
	// Initial is the pause after the first crash.
	Initial Duration `json:"initial"`
	// Max is the longest pause.
	Max Duration `json:"max"`
	// Factor is what the pause grows by with each crash; at least 1.
	Factor float64 `json:"factor"`
	// ResetAfter is how long it has to run to have no crashes counted any more.
	ResetAfter Duration `json:"resetAfter"`
}

// Resources are the limits of a workload's scope.
type Resources struct {
	// Limits are what all processes of an instance may use together.
	Limits Limits `json:"limits,omitzero"`
}

// Limits are Kubernetes quantities; empty means no limit.
type Limits struct {
	// Memory in bytes: 512Mi, 1Gi. Beyond it the kernel ends a process.
	Memory string `json:"memory,omitempty" unquoted:"number"`
	// CPU is the number of cores: 1.5, 500m.
	CPU string `json:"cpu,omitempty" unquoted:"number"`
	// PIDs is the number of processes and threads.
	PIDs *int64 `json:"pids,omitempty"`
}

// RestartPolicy says after which exits a workload is started again.
type RestartPolicy string

// Always: after every exit. OnFailure: after a failure, not after success. Never:
// after none.
const (
	RestartAlways    RestartPolicy = "Always"
	RestartOnFailure RestartPolicy = "OnFailure"
	RestartNever     RestartPolicy = "Never"
)

// OnControllerExit says what becomes of a workload when the controller ends.
type OnControllerExit string

// Stop: it is stopped with the controller, and if that is killed, too. Keep: it
// lives on, and the next controller adopts it.
const (
	ExitStop OnControllerExit = "Stop"
	ExitKeep OnControllerExit = "Keep"
)

// KillMode says how far a stop reaches.
type KillMode string

// Tree: every process that was started by the workload is stopped. Group: what has
// left both its group and its session is left running.
const (
	KillTree  KillMode = "Tree"
	KillGroup KillMode = "Group"
)

// ScopePolicy says whether a workload must have a cgroup of its own.
type ScopePolicy string

// Auto: where one can be had. Required: it is not started without. Off: none.
const (
	ScopeAuto     ScopePolicy = "Auto"
	ScopeRequired ScopePolicy = "Required"
	ScopeOff      ScopePolicy = "Off"
)
