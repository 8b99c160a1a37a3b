package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// newRestart is the verb that has workloads started anew.
func newRestart(std streams, at *placeFlags) *cobra.Command {
	f := waitFlags{until: "ready"}
	var waits waitSwitch
	cmd := &cobra.Command{
		Use:   "restart {KIND[/NAME]... | --all | -l SELECTOR}",
		Short: "Start workloads anew, and wait until they are ready",
		Long: `Start workloads anew. Every instance that runs now is replaced, as the strategy
of its manifest says: stopped first, with all that it has started, or (BlueGreen)
once the new one is ready. What waits in back-off, has completed or has failed is
started now. A restart that was asked for is no crash: nothing is counted.

The program is looked for first. Where it is not there any more, what runs is
left running, and this command says so.

It ends with exit code 0 once new instances are ready and none of the former ones
is left, and with 1 when the time is over, with a line for each that says why; the
controller goes on with it all the same. What is suspended is not restarted:
resume it instead. Asked for by kind, label or --all, it is left as it is.`,
		Example: `  proc-controller restart mcp/files
  proc-controller restart -l team=dev --timeout 5m
  proc-controller restart --all --no-wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := f.parse(cmd, args)
			if err != nil {
				return err
			}
			r := restarting{waiting: w, std: std, wait: waits.on(), limit: f.timeout}
			return r.run(cmd.Context(), at)
		},
	}
	cmd.ValidArgsFunction = completeWorkloads(at)
	flags := cmd.Flags()
	waits.add(flags, true, "wait until they are ready, and nothing of the former ones is left")
	flags.DurationVar(&f.timeout, "timeout", 2*time.Minute, "how long to wait at most, as `TIME`: 30s, 2m")
	flags.BoolVar(&f.all, "all", false, "restart all workloads")
	flags.StringVarP(&f.selector, "selector", "l", "", "restart those whose labels match `SELECTOR`: team=dev,tier!=test")
	return cmd
}

// restarting is a restart: of whom, and how far it is.
type restarting struct {
	waiting
	std    streams
	wait   bool
	limit  time.Duration
	client *api.Client
	place  place
	failed bool            // one that was asked for by name is not restarted
	asked  []*askedRestart // the others
}

// askedRestart is one that the controller has taken note of.
type askedRestart struct {
	key spec.Key
	// former are the instances that are to go.
	former []spec.Instance
	state  waitState
	pids   string
}

func (r *restarting) run(ctx context.Context, at *placeFlags) (err error) {
	if r.client, r.place, err = at.client(); err != nil {
		return err
	}
	all, err := r.client.Workloads(ctx)
	if err != nil {
		return r.place.explain(err)
	}
	if err := r.ask(ctx, all); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	if r.wait && len(r.asked) > 0 {
		if err := r.await(ctx); err != nil {
			return err
		}
	}
	if r.failed {
		return errSaid
	}
	return nil
}

// ask asks for all of them.
func (r *restarting) ask(ctx context.Context, all []api.Object) error {
	_, missing := r.want.pick(all)
	for _, err := range missing {
		r.std.say(err)
		r.failed = true
	}
	keys := r.keys(all)
	if len(keys) == 0 {
		return errors.New("there is nothing to restart: no workload matches")
	}
	for _, k := range keys {
		o := lookUp(all, k)
		switch {
		case o == nil:
			continue // said
		case resting(o) && !slices.Contains(r.want, k):
			fmt.Fprintf(r.std.err, "%s is left as it is: nothing of it is to run\n", shortName(k))
			continue
		}
		if err := r.askOne(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// lookUp finds a workload, or gives nil.
func lookUp(all []api.Object, k spec.Key) *api.Object {
	i := slices.IndexFunc(all, func(o api.Object) bool { return o.Key() == k })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// resting says that nothing of a workload is to run, so that there is nothing to
// restart.
func resting(o *api.Object) bool {
	return o.Spec == nil || o.Spec.Suspend || !o.Status.SuspendedAt.IsZero() || o.Spec.Replicas != nil && *o.Spec.Replicas == 0
}

// askOne asks for one. That it cannot be is said, and no reason to leave the others.
func (r *restarting) askOne(ctx context.Context, k spec.Key) error {
	o, err := r.client.Restart(ctx, k)
	if refused, ok := errors.AsType[*api.Failure](err); ok {
		r.std.say(fmt.Errorf("cannot restart %s: %s", shortName(k), refused.Message))
		r.failed = true
		return nil
	}
	if err != nil {
		return r.place.explain(err)
	}
	a := &askedRestart{key: k}
	for _, in := range o.Status.Instances {
		if in.Outdated {
			a.former = append(a.former, in.Instance)
		}
	}
	r.asked = append(r.asked, a)
	if !r.wait {
		fmt.Fprintf(r.std.out, "%s is being restarted\n", shortName(k))
	}
	return nil
}

// absence is how long the controller may give no answer while somebody waits for
// what it does: one that is upgraded, or started anew, goes on with it.
const absence = 10 * time.Second

// await waits until all is done, at one moment.
func (r *restarting) await(ctx context.Context) error {
	shown := newSteps(r.std)
	var lost error
	var answered time.Time // last, before it was lost
	err := untilSeen(ctx, r.client, func(all []api.Object, err error) bool {
		if err != nil {
			if lost == nil {
				answered = time.Now()
			}
			lost = err
			return time.Since(answered) > absence
		}
		lost = nil
		left := r.look(ctx, all)
		shown.show(left)
		return len(left) == 0 || r.givesUp(ctx)
	})
	shown.clear()
	switch {
	case lost != nil:
		return fmt.Errorf("the controller gives no answer any more, so that it cannot be told whether the restart is done: %w", r.place.explain(lost))
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return r.tell(err != nil)
}

// look says what is left to do.
func (r *restarting) look(ctx context.Context, all []api.Object) (left []step) {
	for _, a := range r.asked {
		o := lookUp(all, a.key)
		if o == nil {
			a.state = waitState{hopeless: true, why: "no manifest names it any more"}
			left = append(left, step{name: shortName(a.key), at: "gone", text: a.state.why})
			continue
		}
		if a.judge(o); a.state.met {
			continue
		}
		left = append(left, stepOf(o))
		if a.forgotten(o) {
			_, _ = r.client.Restart(ctx, a.key) // the next look tells
		}
	}
	return left
}

// judge says whether a restart is done: what ran is gone, and what runs is ready.
func (a *askedRestart) judge(o *api.Object) {
	if a.state = isReady.judge(o); !a.state.met && !a.state.hopeless {
		a.state.why = whyLeft(o)
	}
	var pids []string
	for _, in := range o.Status.Instances {
		if in.PID > 0 {
			pids = append(pids, strconv.Itoa(in.PID))
		}
		if in.Outdated || in.PID > 0 && slices.Contains(a.former, in.Instance) {
			a.state = waitState{why: whyLeft(o)}
		}
	}
	if resting(o) {
		a.state = waitState{hopeless: true, why: "nothing of it is to run any more: it was suspended, or its manifest changed, meanwhile"}
	}
	a.pids = strings.Join(pids, ", ")
}

// forgotten says that the controller does not know any more what it was asked for:
// another one has begun without the ledger.
func (a *askedRestart) forgotten(o *api.Object) bool {
	return slices.ContainsFunc(o.Status.Instances, func(in spec.InstanceStatus) bool {
		return in.PID > 0 && !in.Outdated && slices.Contains(a.former, in.Instance)
	})
}

// givesUp says that one of them can no longer become ready. A controller that has
// just begun knows no manifest yet: so that has to be found once more, after it has
// said that it knows all.
func (r *restarting) givesUp(ctx context.Context) bool {
	for r.hopeless() {
		info, err := r.client.Controller(ctx)
		switch {
		case err != nil: // whoever looks is told of it
			return false
		case info.Ready:
			all, err := r.client.Workloads(ctx)
			if err == nil {
				r.look(ctx, all)
			}
			return err == nil && r.hopeless()
		}
		select {
		case <-time.After(lastLook):
		case <-ctx.Done():
			return false
		}
	}
	return false
}

func (r *restarting) hopeless() bool {
	return slices.ContainsFunc(r.asked, func(a *askedRestart) bool { return a.state.hopeless })
}

// tell says what has come of each.
func (r *restarting) tell(timedOut bool) error {
	for _, a := range r.asked {
		name := shortName(a.key)
		switch {
		case a.state.met && a.state.as != "":
			fmt.Fprintf(r.std.out, "%s restarted, and has %s\n", name, a.state.as)
		case a.state.met:
			fmt.Fprintf(r.std.out, "%s restarted (pid %s)\n", name, a.pids)
		case a.state.hopeless:
			r.std.say(fmt.Errorf("%s will not be ready: %s", name, a.state.why))
			r.failed = true
		case timedOut:
			r.std.say(fmt.Errorf("%s is not restarted after %v: %s", name, r.limit, a.state.why))
			r.failed = true
		default: // another one is hopeless
			r.std.say(fmt.Errorf("%s is not restarted yet: %s", name, a.state.why))
		}
	}
	return nil
}
