package api

import (
	"strconv"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Object is one workload: its manifest with the defaults filled in, and what is
// true of it now.
type Object struct {
	APIVersion string        `json:"apiVersion"`
	Kind       spec.Kind     `json:"kind"`
	Metadata   spec.Metadata `json:"metadata"`
	// Spec is nil where processes are known and no manifest is.
	Spec   *spec.Spec `json:"spec,omitempty"`
	Status Status     `json:"status"`
}

// Key is the identity of the workload.
func (o *Object) Key() spec.Key { return spec.Key{Kind: o.Kind, Name: o.Metadata.Name} }

// Status is the status of a workload and the place of its manifest.
type Status struct {
	spec.Status
	Source *Source `json:"source,omitempty"`
}

// Source is where a manifest was read from.
type Source struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"` // where the document starts, from 1
}

// String gives file:line, as compilers and editors do.
func (s *Source) String() string {
	if s == nil || s.File == "" {
		return ""
	}
	if s.Line == 0 {
		return s.File
	}
	return s.File + ":" + strconv.Itoa(s.Line)
}

// List is a list of workloads, sorted by key, as Kubernetes writes lists.
type List struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   struct{} `json:"metadata"`
	Items      []Object `json:"items"`
}

// Controller is what is known beside the workloads: who the controller is, and
// what a person should know of its surroundings.
type Controller struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Owner      spec.Owner `json:"owner"`
	PID        int        `json:"pid"`
	Version    string     `json:"version,omitempty"`
	// Upgrades counts the programs that had this pid before, one after another;
	// UpgradeFailure is why the last one that was begun did not happen.
	Upgrades       int    `json:"upgrades"`
	UpgradeFailure string `json:"upgradeFailure,omitempty"`
	// Ready says that the first scan and the first read are done and the first
	// plan is handed out.
	Ready bool `json:"ready"`
	// Notices concern the manifest directory and the host as a whole.
	Notices []Notice `json:"notices"`
	// Others carry a marker and are not of this controller, or cannot be told.
	Others []Process `json:"others"`
	// Unattributed were re-parented to the controller and belong to no known
	// instance.
	Unattributed []Process `json:"unattributed"`
	// Unreadable counts the processes that could not be read and that nothing
	// connects with the controller; Blocked are pids whose reading hangs.
	Unreadable int   `json:"unreadable"`
	Blocked    []int `json:"blocked"`
}

// Notice is something that a person should know, with its place if it has one.
type Notice struct {
	File    string      `json:"file,omitempty"`
	Line    int         `json:"line,omitempty"`
	Column  int         `json:"column,omitempty"`
	Reason  spec.Reason `json:"reason,omitempty"`
	Message string      `json:"message"`
}

// String gives file:line:col: message, without the parts that are not known.
func (n Notice) String() string {
	s := n.Message
	if n.File == "" {
		return s
	}
	place := n.File
	if n.Line > 0 {
		place += ":" + strconv.Itoa(n.Line)
	}
	if n.Line > 0 && n.Column > 0 {
		place += ":" + strconv.Itoa(n.Column)
	}
	return place + ": " + s
}

// Process is one process with a marker and what can be said of it.
type Process struct {
	observe.Ident
	Command  string        `json:"command"`
	Key      string        `json:"key,omitempty"`
	Instance spec.Instance `json:"instance,omitempty"`
	Owner    spec.Owner    `json:"owner,omitempty"`
	Role     string        `json:"role"`
	Verdict  string        `json:"verdict"`
	Evidence []string      `json:"evidence"`
}

// objectOf converts one row of a view. The spec is shared with the view, which
// nobody changes.
func objectOf(w *controller.Workload) Object {
	o := Object{
		APIVersion: spec.APIVersion,
		Kind:       w.Key.Kind,
		Metadata:   spec.Metadata{Name: w.Key.Name},
		Status:     Status{Status: w.Status},
	}
	if w.Object != nil {
		o.Metadata = w.Object.Metadata
		o.Spec = &w.Object.Spec
	}
	if w.File != "" {
		o.Status.Source = &Source{File: w.File, Line: w.Line}
	}
	return o
}

// controllerOf converts what a view says beside its workloads.
func controllerOf(v *controller.View) Controller {
	c := Controller{
		APIVersion:   spec.APIVersion,
		Kind:         "Controller",
		Owner:        v.Owner,
		PID:          v.PID,
		Ready:        v.Ready,
		Notices:      make([]Notice, 0, len(v.Notices)),
		Others:       processesOf(v.Others),
		Unattributed: processesOf(v.Unattributed),
		Unreadable:   v.Unreadable,
		Blocked:      append([]int{}, v.Blocked...),
	}
	for _, f := range v.Notices {
		c.Notices = append(c.Notices, Notice(f))
	}
	return c
}

func processesOf(ps []*observe.Process) []Process {
	out := make([]Process, 0, len(ps))
	for _, p := range ps {
		w := Process{
			Ident:    p.Ident,
			Command:  p.Command,
			Instance: p.Instance,
			Owner:    p.Markers.Owner,
			Role:     p.Role.String(),
			Verdict:  p.Verdict.String(),
			Evidence: append([]string{}, p.Evidence...),
		}
		if p.Key != (spec.Key{}) {
			w.Key = p.Key.String()
		}
		out = append(out, w)
	}
	return out
}
