package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// waitFlags say what is waited for.
type waitFlags struct {
	until    string
	timeout  time.Duration
	all      bool
	selector string
}

// newWait is the verb that waits until something is true.
func newWait(std streams, at *placeFlags) *cobra.Command {
	var f waitFlags
	cmd := &cobra.Command{
		Use:   "wait {KIND[/NAME]... | --all | -l SELECTOR}",
		Short: "Wait until workloads are ready, or gone, or have a condition",
		Long: `Wait until something is true of workloads, for scripts and tests.

It ends with exit code 0 once it is true of every one, and with 1 when the time
is over, with a line for each that says why it is not. It ends at once where it
can no longer become true: a workload that runs once has failed, a manifest is
invalid. One that runs once and has completed is as good as ready.

A workload that is not there yet is waited for, too. --all and -l take what there
is when the wait begins.`,
		Example: `  proc-controller wait mcp/files --for=ready
  proc-controller wait --all --timeout 2m
  proc-controller wait mcp/files --for=condition=Verified
  proc-controller wait -l team=dev --for=delete`,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := f.parse(cmd, args)
			if err != nil {
				return err
			}
			return w.run(cmd.Context(), std, at, f.timeout)
		},
	}
	cmd.ValidArgsFunction = completeWorkloads(at)
	flags := cmd.Flags()
	flags.StringVar(&f.until, "for", "ready", "`WHAT` is waited for: ready, delete, condition=NAME or condition=NAME=False")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "how long to wait at most, as `TIME`: 30s, 2m")
	flags.BoolVar(&f.all, "all", false, "wait for all workloads")
	flags.StringVarP(&f.selector, "selector", "l", "", "wait for those whose labels match `SELECTOR`: team=dev,tier!=test")
	completeWords(cmd, "for", "ready", "delete", "condition=Available", "condition=Verified", "condition=Progressing", "condition=Stalled")
	return cmd
}

// waiting is a wait: for whom, and for what.
type waiting struct {
	want   selectors
	labels labels.Selector // nil: by name
	until  aim
}

// parse reads flags and arguments.
func (f *waitFlags) parse(cmd *cobra.Command, args []string) (w waiting, err error) {
	if w.want, err = parseSelectors(cmd, args); err != nil {
		return w, err
	}
	switch {
	case f.all && f.selector != "", (f.all || f.selector != "") && len(args) > 0:
		return w, misused(cmd, "names, --all and -l exclude one another")
	case !f.all && f.selector == "" && len(args) == 0:
		return w, misused(cmd, "say for which workloads: KIND/NAME, --all or -l SELECTOR")
	case f.timeout <= 0:
		return w, misused(cmd, "the timeout must be more than nothing, and is %v", f.timeout)
	}
	if f.selector != "" {
		if w.labels, err = labels.Parse(f.selector); err != nil {
			return w, misused(cmd, "cannot read the selector %q: %v", f.selector, err)
		}
	}
	w.until, err = parseAim(cmd, f.until)
	return w, err
}

// aim is what is to be true of a workload.
type aim struct {
	gone      bool
	condition spec.ConditionType
	status    spec.ConditionStatus
}

func parseAim(cmd *cobra.Command, text string) (aim, error) {
	name, isCondition := strings.CutPrefix(text, "condition=")
	switch {
	case text == "ready":
		return aim{condition: spec.CondReady, status: spec.True}, nil
	case text == "delete":
		return aim{gone: true}, nil
	case !isCondition:
		return aim{}, misused(cmd, "cannot wait for %q: write ready, delete or condition=NAME", text)
	}
	name, value, given := strings.Cut(name, "=")
	if !given {
		value = string(spec.True)
	}
	a := aim{}
	for _, c := range spec.Conditions {
		if strings.EqualFold(name, string(c)) {
			a.condition = c
		}
	}
	for _, s := range []spec.ConditionStatus{spec.True, spec.False, spec.Unknown} {
		if strings.EqualFold(value, string(s)) {
			a.status = s
		}
	}
	switch {
	case a.condition == "":
		return aim{}, misused(cmd, "there is no condition %s: write one of %s", name, joined(spec.Conditions))
	case a.status == "":
		return aim{}, misused(cmd, "a condition is True, False or Unknown, not %s", value)
	}
	return a, nil
}

func joined(conditions []spec.ConditionType) string {
	var names []string
	for _, c := range conditions {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

func (a aim) String() string {
	switch {
	case a.gone:
		return "gone"
	case a.status != spec.True:
		return string(a.condition) + "=" + string(a.status)
	}
	return strings.ToLower(string(a.condition))
}

// waitState is what is to be said of one workload that is waited for.
type waitState struct {
	met      bool
	as       string // what it is, where that is not what was asked for
	hopeless bool   // it can no longer become true
	why      string
}

// judge says whether it is true of a workload, which is nil where there is none.
func (a aim) judge(o *api.Object) waitState {
	switch {
	case o == nil && a.gone:
		return waitState{met: true}
	case o == nil:
		return waitState{why: "no manifest names it, and nothing of it runs"}
	case a.gone:
		return waitState{why: "it is " + strings.ToLower(string(o.Status.Phase))}
	}
	for _, c := range o.Status.Conditions {
		if c.Type == a.condition {
			if c.Status == a.status {
				return waitState{met: true}
			}
			return a.unmet(o, c)
		}
	}
	return waitState{why: "it has no condition " + string(a.condition)}
}

// unmet says why a condition is not as it should be.
func (a aim) unmet(o *api.Object, c spec.Condition) waitState {
	st := waitState{why: string(c.Reason)}
	if c.Message != "" {
		st.why += ": " + c.Message
	}
	if a.status != spec.True || a.condition != spec.CondReady && a.condition != spec.CondAvailable && a.condition != spec.CondVerified {
		return st
	}
	switch {
	case o.Status.Phase == spec.PhaseCompleted && a.condition == spec.CondReady:
		return waitState{met: true, as: "completed"} // it has done what others wait for
	case o.Status.Phase == spec.PhaseFailed, o.Status.Phase == spec.PhaseCompleted:
		st.hopeless = true
	case c.Reason == spec.ReasonInvalid:
		st.hopeless = true // also where the last good one runs on: it takes an edit
	}
	return st
}

// run waits. What it has found true once is looked at again: all has to be true
// at one moment.
func (w *waiting) run(ctx context.Context, std streams, at *placeFlags, limit time.Duration) error {
	client, p, err := at.client()
	if err != nil {
		return err
	}
	all, err := client.Workloads(ctx)
	if err != nil {
		return p.explain(err)
	}
	keys := w.keys(all)
	if len(keys) == 0 {
		return errors.New("there is nothing to wait for: no workload matches")
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	states, lost, err := awaitStates(ctx, client, keys, w.until.judge)
	switch {
	case lost != nil:
		return p.explain(lost)
	case every(states):
		for i, k := range keys {
			fmt.Fprintf(std.out, "%s is %s\n", shortName(k), cmp.Or(states[i].as, w.until.String()))
		}
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return w.timedOut(std, keys, states, limit)
	case err != nil:
		return err
	}
	return w.giveUp(std, keys, states)
}

// awaitStates looks at workloads until what is judged is met by each at one moment,
// or can no longer be by one, or ctx ends, whose error it returns. judge is given nil
// where there is none. Lost is why the controller gives no answer any more, so that
// what was seen last says nothing; one that is being replaced is waited for.
func awaitStates(ctx context.Context, client *api.Client, keys []spec.Key, judge func(*api.Object) waitState) (states []waitState, lost, err error) {
	states = make([]waitState, len(keys))
	for i := range states {
		states[i].why = "the controller has not told of it yet"
	}
	err = untilSeen(ctx, client, func(all []api.Object, no error) bool {
		if lost = no; lost != nil {
			return !passing(lost)
		}
		for i, k := range keys {
			states[i] = judge(lookUp(all, k))
		}
		return decided(states)
	})
	return states, lost, err
}

// passing says that a controller which gives no answer may do so again: it ends, is
// being replaced, or has too much to do.
func passing(err error) bool {
	var no *api.Failure
	if errors.As(err, &no) {
		return no.Code >= http.StatusInternalServerError
	}
	return !errors.Is(err, fs.ErrPermission)
}

// keys are those that are waited for.
func (w *waiting) keys(all []api.Object) (keys []spec.Key) {
	for _, k := range w.want {
		if k.Name != "" {
			keys = append(keys, k)
		}
	}
	for _, o := range all {
		byKind := slices.ContainsFunc(w.want, func(k spec.Key) bool { return matches(k, o.Key()) })
		byLabel := len(w.want) == 0 && (w.labels == nil || w.labels.Matches(labels.Set(o.Metadata.Labels)))
		if (byKind || byLabel) && !slices.Contains(keys, o.Key()) {
			keys = append(keys, o.Key())
		}
	}
	return keys
}

// decided says that there is nothing more to wait for.
func decided(states []waitState) bool {
	return every(states) || slices.ContainsFunc(states, func(st waitState) bool { return st.hopeless })
}

func every(states []waitState) bool {
	return !slices.ContainsFunc(states, func(st waitState) bool { return !st.met })
}

// giveUp names those that it can no longer become true of.
func (w *waiting) giveUp(std streams, keys []spec.Key, states []waitState) error {
	for i, st := range states {
		if st.hopeless {
			std.say(fmt.Errorf("%s will not be %v: %s", shortName(keys[i]), w.until, st.why))
		}
	}
	return errSaid
}

// timedOut says of each that it is not true of why.
func (w *waiting) timedOut(std streams, keys []spec.Key, states []waitState, limit time.Duration) error {
	for i, st := range states {
		if !st.met {
			std.say(fmt.Errorf("%s is not %v after %v: %s", shortName(keys[i]), w.until, limit, st.why))
		}
	}
	return errSaid
}
