package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// The bounds of a wait, in seconds: agents give up on a call that takes long.
const (
	usualWait = 60
	mostWait  = 600
)

// waitInput says what is waited for.
type waitInput struct {
	Workloads      []string `json:"workloads" jsonschema:"KIND/NAME of each"`
	Until          string   `json:"until,omitempty" jsonschema:"ready (the default), gone, or the name of a condition that is to be True: Available, Verified, Stalled"`
	TimeoutSeconds int      `json:"timeoutSeconds,omitempty" jsonschema:"60 if left out, 600 at most"`
}

type waitOutput struct {
	Met       bool        `json:"met" jsonschema:"whether it is true of all"`
	Workloads []waitedFor `json:"workloads"`
}

// waitedFor is one workload at the end of a wait.
type waitedFor struct {
	Workload string `json:"workload"`
	Met      bool   `json:"met"`
	Why      string `json:"why,omitempty" jsonschema:"why it is not true of it"`
	Hopeless bool   `json:"hopeless,omitempty" jsonschema:"it will not be true unless somebody does something"`
}

func (t *tools) wait(ctx context.Context, in waitInput) (waitOutput, error) {
	var keys []spec.Key
	for _, text := range in.Workloads {
		k, err := spec.ParseKey(text)
		if err != nil {
			return waitOutput{}, err
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return waitOutput{}, errors.New("there is nothing to wait for: name a workload")
	}
	until, err := aimOf(in.Until)
	if err != nil {
		return waitOutput{}, err
	}
	return t.await(ctx, keys, in.TimeoutSeconds, until.judge)
}

// aimOf reads what is waited for.
func aimOf(text string) (aim, error) {
	switch {
	case text == "", strings.EqualFold(text, "ready"):
		return aim{condition: spec.CondReady, status: spec.True}, nil
	case strings.EqualFold(text, "gone"):
		return aim{gone: true}, nil
	}
	for _, c := range spec.Conditions {
		if strings.EqualFold(text, string(c)) {
			return aim{condition: c, status: spec.True}, nil
		}
	}
	return aim{}, fmt.Errorf("cannot wait for %q: write ready, gone, or one of %s", text, joined(spec.Conditions))
}

// await waits until all that is judged is met, or one will never be, or the time
// is over. A controller that is restarted meanwhile is waited for.
func (t *tools) await(ctx context.Context, keys []spec.Key, seconds int, judge func(*api.Object) waitState) (waitOutput, error) {
	limited, cancel := context.WithTimeout(ctx, time.Duration(bounded(seconds, usualWait, mostWait))*time.Second)
	defer cancel()
	states, lost, err := awaitStates(limited, t.client, keys, judge)
	switch {
	case lost != nil:
		return waitOutput{}, lost
	case err != nil && ctx.Err() != nil:
		return waitOutput{}, err
	}
	out := waitOutput{Met: every(states), Workloads: []waitedFor{}}
	for i, k := range keys {
		out.Workloads = append(out.Workloads, waitedFor{shortName(k), states[i].met, states[i].why, states[i].hopeless})
	}
	return out, nil
}

// addChanges adds the tools that change something.
func (t *tools) addChanges(s *mcp.Server) {
	yes, no := new(true), new(bool)
	addTool(s, t, "restart", "Replace every instance of a workload by a new one, and wait until it is ready again.",
		mcp.ToolAnnotations{DestructiveHint: yes, OpenWorldHint: no}, t.restart)
	addTool(s, t, "suspend", "Stop a workload and keep it stopped until it is resumed. Its manifest stays as it is.",
		mcp.ToolAnnotations{DestructiveHint: yes, IdempotentHint: true, OpenWorldHint: no}, t.suspend)
	addTool(s, t, "resume", "Take back that a workload was suspended.",
		mcp.ToolAnnotations{DestructiveHint: no, IdempotentHint: true, OpenWorldHint: no}, t.resume)
}

// restartInput says what is restarted.
type restartInput struct {
	workloadInput
	TimeoutSeconds int `json:"timeoutSeconds,omitempty" jsonschema:"how long to wait until it is ready; 60 if left out, 600 at most"`
}

func (t *tools) restart(ctx context.Context, in restartInput) (waitOutput, error) {
	k, err := spec.ParseKey(in.Workload)
	if err != nil {
		return waitOutput{}, err
	}
	if _, err := t.client.Restart(ctx, k); err != nil {
		return waitOutput{}, t.missing(ctx, k, err)
	}
	ready := aim{condition: spec.CondReady, status: spec.True}
	return t.await(ctx, []spec.Key{k}, in.TimeoutSeconds, func(o *api.Object) waitState {
		if o != nil && slices.ContainsFunc(o.Status.Instances, func(in spec.InstanceStatus) bool { return in.Outdated }) {
			return waitState{why: "a former instance still runs"}
		}
		return ready.judge(o)
	})
}

func (t *tools) suspend(ctx context.Context, in workloadInput) (workloadRow, error) {
	return t.setSuspended(ctx, in, true)
}

func (t *tools) resume(ctx context.Context, in workloadInput) (workloadRow, error) {
	return t.setSuspended(ctx, in, false)
}

func (t *tools) setSuspended(ctx context.Context, in workloadInput, suspended bool) (workloadRow, error) {
	k, err := spec.ParseKey(in.Workload)
	if err != nil {
		return workloadRow{}, err
	}
	if err := t.client.SetSuspended(ctx, k, suspended); err != nil {
		return workloadRow{}, t.missing(ctx, k, err)
	}
	o, err := t.client.Workload(ctx, k)
	return rowOf(&o), err
}
