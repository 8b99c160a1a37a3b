package api

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// The heads of the columns that somebody looks for.
const (
	StatusColumn = "STATUS"
	reasonHead   = "REASON"
)

// Rows makes the rows of a table of workloads, one by one. What a row says is decided
// here and nowhere else.
type Rows struct {
	Form TableForm
	// Reasons adds the column of the reasons.
	Reasons bool
}

// Columns gives the heads.
func (r Rows) Columns() []string {
	heads := []string{"KIND", "NAME"}
	if r.Form == TableNames {
		return heads
	}
	heads = append(heads, StatusColumn, "READY", "PID", "RESTARTS", "AGE")
	if r.Form == TableWide {
		heads = append(heads, "INSTANCE", "PORTS", "SCOPE", "HASH", "FILE")
	}
	if r.Reasons {
		heads = append(heads, reasonHead)
	}
	return heads
}

// Cells gives the row of a workload as it is at a time.
func (r Rows) Cells(o *Object, now time.Time) []string { return r.appendCells(nil, o, now) }

func (r Rows) appendCells(row []string, o *Object, now time.Time) []string {
	row = append(row, string(o.Kind), o.Metadata.Name)
	if r.Form == TableNames {
		return row
	}
	row = append(row, string(o.Status.Phase), ReadyCell(o), pidCell(o), strconv.Itoa(o.Status.Restarts), ageCell(o, now))
	if r.Form == TableWide {
		row = append(row, wideCells(o)...)
	}
	if r.Reasons {
		row = append(row, ReasonCell(o))
	}
	return row
}

// ReadyCell is READY/WANTED in main processes.
func ReadyCell(o *Object) string {
	if o.Spec == nil && len(o.Status.Instances) == 0 {
		return "" // a manifest that never was good: who knows how many
	}
	ready, wanted := 0, 1
	for _, in := range o.Status.Instances {
		if in.Ready {
			ready++
		}
	}
	switch {
	case o.Spec == nil || o.Spec.Suspend || !o.Status.SuspendedAt.IsZero():
		wanted = 0
	case o.Spec.Replicas != nil:
		wanted = int(*o.Spec.Replicas)
	}
	return strconv.Itoa(ready) + "/" + strconv.Itoa(wanted)
}

func pidCell(o *Object) string {
	if o.Status.PID == 0 {
		return ""
	}
	return strconv.Itoa(o.Status.PID)
}

// ageCell is how long the first instance runs, as kubectl writes durations.
func ageCell(o *Object, now time.Time) string {
	if len(o.Status.Instances) == 0 || o.Status.Instances[0].StartedAt.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, now.Sub(o.Status.Instances[0].StartedAt)))
}

// wideCells are INSTANCE, PORTS, SCOPE, HASH and FILE.
func wideCells(o *Object) []string {
	var ids []string
	scope := ""
	for _, in := range o.Status.Instances {
		ids = append(ids, string(in.Instance))
		scope = cmp.Or(scope, scopeCell(in.Scope))
	}
	var ports []string
	for _, p := range o.Status.Ports {
		ports = append(ports, PortCell(p))
	}
	return []string{
		strings.Join(ids, ","), strings.Join(ports, ","), scope, string(o.Status.Hash), o.Status.Source.String(),
	}
}

// scopeCell leaves out why there is no scope: that stands in the status.
func scopeCell(scope string) string {
	if mode, _, found := strings.Cut(scope, ": "); found && mode == string(observe.ScopeOff) {
		return mode
	}
	return scope
}

// PortCell is NAME=PORT, or the port alone where it has no name.
func PortCell(p spec.NamedPort) string {
	number := strconv.Itoa(int(p.Port))
	if p.Name == "" {
		return number
	}
	return p.Name + "=" + number
}

// ReasonCell is what is wrong or awaited: a reason to search for and a message
// to read. What is as it should be has none.
func ReasonCell(o *Object) string {
	reason, message := o.Status.Reason, o.Status.Message
	if fine(reason) {
		reason, message = "", ""
		// It runs, but perhaps not as the newest manifest says.
		for _, c := range o.Status.Conditions {
			if c.Type == spec.CondAccepted && c.Status == spec.False {
				reason, message = c.Reason, c.Message
			}
		}
	}
	if reason == "" || message == "" {
		return string(reason)
	}
	return string(reason) + ": " + message
}

// fine says that a reason tells of nothing that is wrong or awaited.
func fine(r spec.Reason) bool {
	switch r {
	case "", spec.ReasonRunning, spec.ReasonListening, spec.ReasonAdopted, spec.ReasonValid,
		spec.ReasonCompleted, spec.ReasonSuspended:
		return true
	}
	return false
}
