package api

import (
	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Prospect is what the controller does with one process, and why.
type Prospect struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Process is nil where the controller does not know it.
	Process *Process `json:"process,omitempty"`
	Plan    Outlook  `json:"plan"`
}

// Outlook is the plan for a process.
type Outlook struct {
	// Fate is Kept, Stopped, Replaced, Waits or Untouched.
	Fate    controller.Fate `json:"fate"`
	Reason  spec.Reason     `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
}

// OutlookOf converts a prospect.
func OutlookOf(p controller.Prospect) Outlook { return Outlook{p.Fate, p.Reason, p.Detail} }

// prospectOf answers for one pid, or for the instance where the pid is not known.
func prospectOf(v *controller.View, pid int, of spec.Instance) Prospect {
	id, _ := v.Find(pid)
	p := v.Prospect(id, of)
	out := Prospect{APIVersion: spec.APIVersion, Kind: "Prospect", Plan: OutlookOf(p)}
	if p.Process != nil {
		out.Process = &processesOf([]*observe.Process{p.Process})[0]
	}
	return out
}
