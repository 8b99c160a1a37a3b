package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// workloadTable lays workloads out as kubectl would.
func workloadTable(rows api.Table) *table {
	t := &table{tint: tintWorkload, rows: make([][]string, 0, len(rows.Rows))}
	t.add(rows.Columns...)
	for _, cells := range rows.Rows {
		t.add(cells...)
	}
	return t
}

// The column of the phase.
const (
	statusHead   = api.StatusColumn
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
func writeNames(w io.Writer, keys []spec.Key) error {
	var b strings.Builder
	for _, k := range keys {
		b.WriteString(shortName(k) + "\n")
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
