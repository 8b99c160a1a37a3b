package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// workloadTable lays workloads out as kubectl would. The reason has a column
// only where one of them has a reason.
func workloadTable(objects []api.Object, now time.Time, wide bool) *table {
	r := workloadRows{wide: wide}
	for i := range objects {
		r.reasons = r.reasons || reasonCell(&objects[i]) != ""
	}
	t := &table{tint: tintWorkload}
	t.add(r.head()...)
	for i := range objects {
		t.add(r.cells(&objects[i], now)...)
	}
	return t
}

// workloadRows makes the rows of a table of workloads.
type workloadRows struct{ wide, reasons bool }

func (r workloadRows) head() []string {
	head := []string{"KIND", "NAME", statusHead, "READY", "PID", "RESTARTS", "AGE"}
	if r.wide {
		head = append(head, "INSTANCE", "PORTS", "SCOPE", "HASH", "FILE")
	}
	if r.reasons {
		head = append(head, "REASON")
	}
	return head
}

func (r workloadRows) cells(o *api.Object, now time.Time) []string {
	row := []string{string(o.Kind), o.Metadata.Name, string(o.Status.Phase), readyCell(o), pidCell(o), strconv.Itoa(o.Status.Restarts), ageCell(o, now)}
	if r.wide {
		row = append(row, wideCells(o)...)
	}
	if r.reasons {
		row = append(row, reasonCell(o))
	}
	return row
}

// The column of the phase.
const (
	statusHead   = "STATUS"
	statusColumn = 2
)

// tintWorkload gives the phase a colour: what is well, what is under way, what is
// wrong.
func tintWorkload(column, cell string) string {
	if column != statusHead {
		return ""
	}
	switch spec.Phase(cell) {
	case spec.PhaseRunning, spec.PhaseCompleted:
		return green
	case spec.PhasePending, spec.PhaseStarting, spec.PhaseStopping, spec.PhaseUnknown:
		return yellow
	case spec.PhaseBackOff, spec.PhaseFailed:
		return red
	}
	return dim
}

// readyCell is READY/WANTED in main processes.
func readyCell(o *api.Object) string {
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
	return fmt.Sprintf("%d/%d", ready, wanted)
}

func pidCell(o *api.Object) string {
	if o.Status.PID == 0 {
		return ""
	}
	return strconv.Itoa(o.Status.PID)
}

// ageCell is how long the first instance runs, as kubectl writes durations.
func ageCell(o *api.Object, now time.Time) string {
	if len(o.Status.Instances) == 0 || o.Status.Instances[0].StartedAt.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, now.Sub(o.Status.Instances[0].StartedAt)))
}

// wideCells are INSTANCE, PORTS, SCOPE, HASH and FILE.
func wideCells(o *api.Object) []string {
	var ids []string
	scope := ""
	for _, in := range o.Status.Instances {
		ids = append(ids, string(in.Instance))
		scope = cmp.Or(scope, scopeCell(in.Scope))
	}
	var ports []string
	for _, p := range o.Status.Ports {
		ports = append(ports, portCell(p))
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

func portCell(p spec.NamedPort) string {
	number := strconv.Itoa(int(p.Port))
	if p.Name == "" {
		return number
	}
	return p.Name + "=" + number
}

// reasonCell is what is wrong or awaited: a reason to search for and a message
// to read. What is as it should be has none.
func reasonCell(o *api.Object) string {
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

// writeObjects writes one object, or a list of them as Kubernetes does.
func writeObjects(w io.Writer, format string, single bool, objects []api.Object) error {
	var v any
	switch {
	case single && len(objects) == 0:
		return nil
	case single:
		v = objects[0]
	default:
		v = listOf(objects)
	}
	if format == "yaml" {
		text, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	return writeJSON(w, v)
}

// listOf is a list as Kubernetes has it. Of the last deaths each object by itself
// says more.
func listOf(objects []api.Object) api.List {
	for i := range objects {
		objects[i].Status.LastDeath = nil
	}
	return api.List{APIVersion: "v1", Kind: "List", Items: append([]api.Object{}, objects...)}
}

// writeJSON writes indented JSON and leaves <, > and & as they are.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// writeNames writes one name a line, in the form that get takes.
func writeNames(w io.Writer, objects []api.Object) error {
	var b strings.Builder
	for i := range objects {
		b.WriteString(shortName(objects[i].Key()) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeNotes tells what a table does not show.
func writeNotes(w io.Writer, c api.Controller, empty, wide bool, manifests string) {
	switch {
	case !c.Ready:
		fmt.Fprintf(w, "note: the controller has just begun; not everything has been looked at\n")
	case empty:
		fmt.Fprintf(w, "No workloads. Put a manifest into %s to run one.\n", manifests)
	}
	for _, n := range c.Notices {
		fmt.Fprintf(w, "note: %s\n", oneLine(n.String()))
	}
	if n := len(c.Unattributed); n > 0 {
		fmt.Fprintf(w, "note: %d left-over %s of no known workload: %s\n", n, plural(n, "process", "processes"), named(c.Unattributed))
	}
	if n := len(c.Blocked); n > 0 {
		fmt.Fprintf(w, "note: %d %s cannot be read (stuck in the kernel): pid %s\n", n, plural(n, "process", "processes"), strings.Trim(fmt.Sprint(c.Blocked), "[]"))
	}
	if n := c.Unreadable; n > 0 && wide { // there are some on most machines
		fmt.Fprintf(w, "note: %d %s may not be read, and nothing connects %s with a workload\n", n, plural(n, "process", "processes"), plural(n, "it", "them"))
	}
}

// named lists a few processes, and says how many more there are.
func named(ps []api.Process) string {
	const most = 5
	var words []string
	for _, p := range ps[:min(len(ps), most)] {
		words = append(words, fmt.Sprintf("pid %d (%s)", p.PID, p.Command))
	}
	if more := len(ps) - most; more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return strings.Join(words, ", ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
