package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/actuate"
	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// describeEvents is how many of the newest events are shown of a workload.
const describeEvents = 10

// newDescribe is the verb that tells all that is known of a workload.
func newDescribe(std streams, at *placeFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "describe KIND[/NAME]...",
		Short: "Tell all that is known of a workload on one screen",
		Long: `Tell all that is known of a workload on one screen: where its manifest is, what
is true of it and why, its processes with their ports and the evidence that they
are its own, its probes, where it is reached, what it depends on and what depends
on it, its last unplanned death with what has changed since the last good run, the
newest events, and the last lines that it has written.`,
		Example: `  proc-controller describe mcp/files
  proc-controller describe agents`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return misused(cmd, "say which workload: KIND/NAME")
			}
			want, err := parseSelectors(cmd, args)
			if err != nil {
				return err
			}
			return describe(cmd.Context(), std, at, want)
		},
	}
	cmd.ValidArgsFunction = completeWorkloads(at)
	return cmd
}

// describe tells of what is there, also if something else is not found.
func describe(ctx context.Context, std streams, at *placeFlags, want selectors) error {
	client, p, err := at.client()
	if err != nil {
		return err
	}
	all, err := client.Workloads(ctx)
	if err != nil {
		return p.explain(err)
	}
	found, missing := want.pick(all)
	for i := range found {
		if i > 0 {
			fmt.Fprintln(std.out)
		}
		s := newSheet(std.out)
		gather(ctx, client, &found[i], all).tell(s)
		if err := s.write(std.out); err != nil {
			return cannotWrite(err)
		}
	}
	if len(found)+len(missing) == 0 {
		fmt.Fprintln(std.err, "No workloads of that kind.")
	}
	return describeMissing(ctx, std, client, want, found, missing)
}

// describeMissing says what is not there, and what has happened to it while it was.
func describeMissing(ctx context.Context, std streams, client *api.Client, want selectors, found []api.Object, missing []error) error {
	if len(missing) == 0 {
		return nil
	}
	for _, k := range want {
		if k.Name == "" || slices.ContainsFunc(found, func(o api.Object) bool { return o.Key() == k }) {
			continue
		}
		s := newSheet(std.out)
		tellOfGone(ctx, client, k, s)
		if err := s.write(std.out); err != nil {
			return cannotWrite(err)
		}
	}
	for _, m := range missing {
		std.say(m)
	}
	return errSaid
}

// tellOfGone tells what has happened to a workload that is not there any more;
// nothing of one that never was.
func tellOfGone(ctx context.Context, client *api.Client, k spec.Key, s *sheet) {
	o := &api.Object{Kind: k.Kind, Metadata: spec.Metadata{Name: k.Name}}
	st := gather(ctx, client, o, nil)
	if len(st.events) == 0 {
		return
	}
	s.line(s.look.paint(bold, k.String()))
	s.field("Status", "gone: no manifest names it, and nothing of it runs")
	s.section("Events", func() { st.recent(s) })
}

// story is what is told of one workload.
type story struct {
	*api.Object
	all    []api.Object
	now    time.Time
	events []controller.Occurrence
	// eventsErr is why there are none.
	eventsErr error
	evidence  map[spec.Instance][]string
	output    []string // the last lines of the newest instance
}

// gather asks for the rest of the story. What cannot be had is left out: the
// status is what was asked for.
func gather(ctx context.Context, client *api.Client, o *api.Object, all []api.Object) *story {
	st := &story{Object: o, all: all, now: time.Now(), evidence: map[spec.Instance][]string{}}
	st.eventsErr = client.Events(ctx, api.EventQuery{Key: o.Key(), Limit: describeEvents}, func(e controller.Occurrence) error {
		st.events = append(st.events, e)
		return nil
	})
	if no, is := errors.AsType[*api.Failure](st.eventsErr); is {
		st.eventsErr = no // it says all there is to say
	}
	for _, in := range o.Status.Instances {
		if in.PID == 0 {
			continue
		}
		if p, err := client.Prospect(ctx, in.PID, in.Instance); err == nil && p.Process != nil && p.Process.Instance == in.Instance {
			st.evidence[in.Instance] = p.Process.Evidence
		}
	}
	if n := len(o.Status.Instances); n > 0 {
		st.output = actuate.LastLines(o.Status.Instances[n-1].Log)
	}
	return st
}
