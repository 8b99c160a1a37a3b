package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// tools are what an agent may ask of the controller. Each call connects anew, so
// that a controller that was restarted is found again.
type tools struct {
	client *api.Client
	// explain says what to do about an error.
	explain func(error) error
}

// mcpInstructions tell an agent what this is for.
const mcpInstructions = `proc-controller keeps agents and MCP servers running on this machine, as manifests in a directory say. These tools look at what it runs. A workload is named KIND/NAME: agent/writer, mcpserver/files. Begin with list_workloads; describe_workload says why one is not ready, events what happened, logs what it wrote.`

// server makes an MCP server that has the tools.
func (t *tools) server(allowChanges bool) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: program, Version: thisVersion().Version},
		&mcp.ServerOptions{Instructions: mcpInstructions, Capabilities: &mcp.ServerCapabilities{}})
	addTool(s, t, "list_workloads", "List the agents and MCP servers that the controller runs, with their state.", reads, t.list)
	addTool(s, t, "describe_workload", "All there is to know of one workload: its manifest with the defaults, its status with conditions, instances and last death, and its newest events.", reads, t.describe)
	addTool(s, t, "logs", "The last lines that a workload has written to its output, the oldest first.", reads, t.logs)
	addTool(s, t, "events", "What has happened, the oldest first: starts, exits, signals with the evidence for them, probes.", reads, t.events)
	addTool(s, t, "wait", "Wait until workloads are ready, gone, or have a condition, and say of each that is not why.", reads, t.wait)
	if allowChanges {
		t.addChanges(s)
	}
	return s
}

// reads are the annotations of a tool that changes nothing.
var reads = mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)}

// addTool adds a tool whose errors say what to do.
func addTool[In, Out any](s *mcp.Server, t *tools, name, about string, hints mcp.ToolAnnotations, do func(context.Context, In) (Out, error)) {
	tool := &mcp.Tool{Name: name, Description: about, Annotations: &hints}
	mcp.AddTool(s, tool, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := do(ctx, in)
		if err != nil {
			err = t.explain(err)
		}
		return nil, out, err
	})
}

// listInput says which workloads are listed.
type listInput struct {
	Kind   string `json:"kind,omitempty" jsonschema:"agent or mcpserver; both if left out"`
	Labels string `json:"labels,omitempty" jsonschema:"a Kubernetes label selector: team=dev,tier!=test"`
}

type listOutput struct {
	Workloads []workloadRow `json:"workloads"`
}

// workloadRow is a workload in short.
type workloadRow struct {
	Workload string            `json:"workload" jsonschema:"KIND/NAME, as the other tools take it"`
	Phase    spec.Phase        `json:"phase"`
	Ready    bool              `json:"ready"`
	Reason   spec.Reason       `json:"reason,omitempty" jsonschema:"why, where something is wrong or awaited"`
	Message  string            `json:"message,omitempty"`
	PID      int               `json:"pid,omitempty"`
	Restarts int               `json:"restarts"`
	Ports    spec.PortMap      `json:"ports,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
}

func rowOf(o *api.Object) workloadRow {
	st := &o.Status
	return workloadRow{
		Workload: shortName(o.Key()), Phase: st.Phase, Ready: holds(o, spec.CondReady), Reason: st.Reason, Message: st.Message,
		PID: st.PID, Restarts: st.Restarts, Ports: st.Ports, Labels: o.Metadata.Labels,
	}
}

// holds says that a condition is true.
func holds(o *api.Object, typ spec.ConditionType) bool {
	for _, c := range o.Status.Conditions {
		if c.Type == typ {
			return c.Status == spec.True
		}
	}
	return false
}

func (t *tools) list(ctx context.Context, in listInput) (listOutput, error) {
	out := listOutput{Workloads: []workloadRow{}}
	q := api.ListOptions{Labels: in.Labels}
	if in.Kind != "" {
		var err error
		if q.Kind, err = spec.ParseKind(in.Kind); err != nil {
			return out, err
		}
	}
	all, err := t.client.List(ctx, q)
	for i := range all {
		out.Workloads = append(out.Workloads, rowOf(&all[i]))
	}
	return out, err
}

// workloadInput names one workload.
type workloadInput struct {
	Workload string `json:"workload" jsonschema:"KIND/NAME: mcpserver/files, agent/writer"`
}

// describedEvents is how many events a description has.
const describedEvents = 20

// description is a workload with what has happened to it.
type description struct {
	api.Object
	Events []controller.Occurrence `json:"events"`
}

// describe has no schema of its answer: that of the API says what it is.
func (t *tools) describe(ctx context.Context, in workloadInput) (any, error) {
	k, err := spec.ParseKey(in.Workload)
	if err != nil {
		return nil, err
	}
	o, err := t.client.Workload(ctx, k)
	if err != nil {
		return nil, t.missing(ctx, k, err)
	}
	d := description{Object: o}
	d.Events, err = t.happened(ctx, api.EventQuery{Key: k, Limit: describedEvents})
	return d, err
}

// missing names what was probably meant, where there is no such workload.
func (t *tools) missing(ctx context.Context, k spec.Key, err error) error {
	if no, ok := errors.AsType[*api.Failure](err); !ok || no.Code != http.StatusNotFound {
		return err
	}
	all, listErr := t.client.Workloads(ctx)
	if listErr != nil || slices.ContainsFunc(all, func(o api.Object) bool { return o.Key() == k }) {
		return err // it is there, and lacks something
	}
	return notFound(k, all)
}

// eventsInput says which events are asked for.
type eventsInput struct {
	Workload string `json:"workload,omitempty" jsonschema:"KIND/NAME; of all if left out"`
	Since    string `json:"since,omitempty" jsonschema:"only what happened in this time before now: 10m, 2h30m"`
	Limit    int    `json:"limit,omitempty" jsonschema:"only the newest, as many; 50 if left out, 1000 at most"`
}

type eventsOutput struct {
	Events []controller.Occurrence `json:"events"`
}

// The bounds of what one call gives: it has to fit into what an agent can read.
const (
	usualEvents = 50
	mostLines   = 1000
)

func (t *tools) events(ctx context.Context, in eventsInput) (out eventsOutput, err error) {
	q := api.EventQuery{Limit: bounded(in.Limit, usualEvents, mostLines)}
	if in.Workload != "" {
		if q.Key, err = spec.ParseKey(in.Workload); err != nil {
			return out, err
		}
	}
	if q.Since, err = before(in.Since); err != nil {
		return out, err
	}
	out.Events, err = t.happened(ctx, q)
	return out, err
}

func (t *tools) happened(ctx context.Context, q api.EventQuery) ([]controller.Occurrence, error) {
	found := []controller.Occurrence{}
	err := t.client.Events(ctx, q, func(o controller.Occurrence) error {
		found = append(found, o)
		return nil
	})
	return found, err
}

// bounded is a number that may be left out.
func bounded(n, usual, most int) int {
	if n <= 0 {
		return usual
	}
	return min(n, most)
}

// before is the time that long ago; zero for none.
func before(since string) (time.Time, error) {
	if since == "" {
		return time.Time{}, nil
	}
	d, err := time.ParseDuration(since)
	if err != nil || d <= 0 {
		return time.Time{}, fmt.Errorf("cannot take %q for a time: write 30s, 10m or 2h30m", since)
	}
	return time.Now().Add(-d), nil
}
