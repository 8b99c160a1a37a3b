package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// newDown is the verb that ends the controller and everything that it runs.
func newDown(std streams, at *placeFlags) *cobra.Command {
	var timeout time.Duration
	var waits waitSwitch
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop everything, and then the controller",
		Long: `Stop everything that the controller runs, workloads with onControllerExit: Keep,
too, and then the controller itself. (A signal to the controller leaves those
running.) Each is stopped with all that it has started, by its stop signal, grace
period and SIGKILL, and what others depend on after them.

It ends with exit code 0 once the controller has ended and nothing of it is found
in the process table. It ends with 1 when the time is over, and names what is
still there; the controller goes on to stop it all the same. A signal to the
controller meanwhile kills at once what is left.`,
		Example: `  proc-controller down
  proc-controller down --manifests ./manifests --timeout 30s
  proc-controller down --no-wait`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return misused(cmd, "the timeout must be more than nothing, and is %v", timeout)
			}
			d := leaving{std: std, limit: timeout}
			return d.run(cmd.Context(), at, waits.on())
		},
	}
	waits.add(cmd.Flags(), true, "wait until the controller has ended and nothing of it is left")
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "how long to wait at most, as `TIME`: 30s, 2m")
	return cmd
}

// leaving is the way of a controller to its end.
type leaving struct {
	std     streams
	limit   time.Duration
	place   place
	client  *api.Client
	pid     int
	shown   *steps
	pending []spec.Key // workloads that were not seen to be gone
	left    []step     // what is waited for, as it was seen last
}

func (d *leaving) run(ctx context.Context, at *placeFlags, wait bool) (err error) {
	if d.client, d.place, err = at.client(); err != nil {
		return err
	}
	info, err := d.client.Controller(ctx)
	if err != nil {
		return d.nobody(ctx, err)
	}
	before, err := d.client.Workloads(ctx)
	if err != nil {
		return err
	}
	d.place, d.pid, d.shown = d.place.of(info.Owner), info.PID, newSteps(d.std)
	d.look(before)
	if err := d.client.Down(ctx); err != nil {
		return d.place.explain(err)
	}
	if !wait {
		fmt.Fprintf(d.std.out, "controller (pid %d) ends, with everything that it runs\n", d.pid)
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	err = d.await(limited)
	d.shown.clear()
	if err != nil {
		return d.timedOut(err)
	}
	return d.check(ctx)
}

// nobody says what to do where no controller runs: there may be something of one
// all the same.
func (d *leaving) nobody(ctx context.Context, err error) error {
	if !errors.Is(err, api.ErrNotRunning) {
		return err
	}
	if rows, err := d.remains(ctx); err == nil && len(rows) > 0 {
		n := len(rows)
		return fmt.Errorf("no controller runs for %s, but %d %s of a former one %s; this ends %s: %s reap --include-keep%s", d.place.manifests,
			n, plural(n, "process", "processes"), plural(n, "does", "do"), plural(n, "it", "them"), program, d.place.flags.given())
	}
	return fmt.Errorf("no controller runs for %s, and nothing of one: there is nothing to stop", d.place.manifests)
}

// await waits until the controller has ended.
func (d *leaving) await(ctx context.Context) error {
	return untilSeen(ctx, d.client, func(all []api.Object, err error) bool {
		if err == nil {
			d.look(all)
		} else { // it is about to end, or has
			d.left = []step{{name: "controller", text: fmt.Sprintf("pid %d has not ended yet", d.pid)}}
		}
		d.shown.show(d.left)
		pid, alive, known := observe.OwnerAlive(d.place.uid, d.place.owner)
		switch {
		case !known: // its socket is all that there is to go by
			return errors.Is(err, api.ErrNotRunning)
		case alive:
			return pid != 0 && pid != d.pid // that of another one
		}
		return true
	})
}

// look notes what is left, and names each workload that is gone.
func (d *leaving) look(all []api.Object) {
	d.left = nil
	var pending []spec.Key
	for i := range all {
		if len(all[i].Status.Instances) > 0 {
			d.left = append(d.left, stepOf(&all[i]))
			pending = append(pending, all[i].Key())
		}
	}
	for _, k := range d.pending {
		if !slices.Contains(pending, k) {
			d.stopped(k)
		}
	}
	d.pending = pending
}

func (d *leaving) stopped(k spec.Key) {
	d.shown.clear()
	fmt.Fprintf(d.std.out, "%s stopped\n", shortName(k))
}

// timedOut names what is left.
func (d *leaving) timedOut(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	for _, s := range d.left {
		d.std.say(fmt.Errorf("%s is not stopped after %v: %s", s.name, d.limit, s.text))
	}
	return errSaid
}

// check looks at the process table: what a controller could not end it has named
// in its log, and gone.
func (d *leaving) check(ctx context.Context) error {
	if pid, alive, _ := observe.OwnerAlive(d.place.uid, d.place.owner); alive {
		return fmt.Errorf("controller (pid %d) has ended, and another one (pid %d) has begun since: what starts it, as a service manager does, has to be told", d.pid, pid)
	}
	rows, err := d.remains(ctx)
	if err != nil {
		return fmt.Errorf("controller (pid %d) has ended, and whether anything is left cannot be told: %w", d.pid, err)
	}
	for _, k := range d.pending {
		if !slices.ContainsFunc(rows, func(r reapRow) bool { return r.Key == k.String() }) {
			d.stopped(k)
		}
	}
	for _, r := range rows {
		d.std.say(fmt.Errorf("pid %d of %s could not be stopped", r.PID, r.Key))
	}
	if len(rows) > 0 {
		return errSaid
	}
	fmt.Fprintf(d.std.out, "controller (pid %d) has ended, and nothing of it is left\n", d.pid)
	return nil
}

// remains are the processes of the owner, as reap would find them. Where nothing
// can be told of processes there are none.
func (d *leaving) remains(ctx context.Context) ([]reapRow, error) {
	if _, _, known := observe.OwnerAlive(d.place.uid, d.place.owner); !known {
		return nil, nil
	}
	r := newReaping(d.std, d.place, &reapFlags{keep: true, dryRun: true})
	err := r.run(ctx)
	return r.rows, err
}
