package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// getFlags say which workloads are shown, and how.
type getFlags struct {
	output, selector          string
	watch, headless, withType bool
}

// newGet is the verb that shows what a running controller sees.
func newGet(std streams, at *placeFlags) *cobra.Command {
	var f getFlags
	cmd := &cobra.Command{
		Use:   "get [KIND[/NAME]...]",
		Short: "Show workloads and their status",
		Long: `Show the workloads of a running controller and their status.

KIND is agent or mcpserver (mcp for short). Without arguments everything is
shown. The same flags that "run" was given find the controller.

-o jsonpath=EXPRESSION and -o custom-columns=HEAD:EXPRESSION,... take what
kubectl takes; quote them, since a shell takes braces and brackets for its own.

With -w it goes on and shows each workload again as it changes, also across a
restart of the controller.`,
		Example: `  proc-controller get                      # everything
  proc-controller get mcp -w               # all MCP servers, and what becomes of them
  proc-controller get -l team=dev          # by label
  proc-controller get mcp/files -o wide    # one, with instance, ports, scope, file
  proc-controller get mcp/files -o yaml    # the object: manifest and status
  proc-controller get mcp/files -o jsonpath='{.status.server.url}'
  proc-controller get -o custom-columns='NAME:.metadata.name,PID:.status.pid'
  proc-controller get -o json | jq '.items[] | select(.status.phase != "Running")'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := f.parse(cmd, std, at, args)
			if err != nil {
				return err
			}
			if f.watch {
				return view(cmd.Context(), std.out, g.watch)
			}
			return g.once(cmd.Context())
		},
	}
	cmd.ValidArgsFunction = completeWorkloads(at)
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "`FORMAT` of the output: wide, json, yaml, name, jsonpath=... or custom-columns=... (default a table)")
	flags.StringVarP(&f.selector, "selector", "l", "", "only those whose labels match `SELECTOR`: team=dev,tier!=test")
	flags.BoolVarP(&f.watch, "watch", "w", false, "go on and show what changes, until Ctrl-C")
	flags.BoolVar(&f.headless, "no-headers", false, "leave the head of a table out")
	flags.BoolVar(&f.withType, "output-watch-events", false, "with -w: say of each whether it was ADDED, MODIFIED or DELETED")
	completeOutputs(cmd)
	return cmd
}

// getting is one call of get.
type getting struct {
	getFlags
	std    streams
	at     *placeFlags
	want   selectors
	labels labels.Selector
	form   outputForm
}

// parse reads flags and arguments.
func (f *getFlags) parse(cmd *cobra.Command, std streams, at *placeFlags, args []string) (g getting, err error) {
	g = getting{getFlags: *f, std: std, at: at, labels: labels.Everything()}
	if g.form, err = parseOutput(cmd, f.output); err != nil {
		return g, err
	}
	if g.want, err = parseSelectors(cmd, args); err != nil {
		return g, err
	}
	if f.withType && !f.watch {
		return g, misused(cmd, "--output-watch-events is of use with --watch alone")
	}
	if f.selector == "" {
		return g, nil
	}
	for _, k := range g.want {
		if k.Name != "" {
			return g, misused(cmd, "a name and -l exclude one another; write the kind alone, or no -l")
		}
	}
	if g.labels, err = labels.Parse(f.selector); err != nil {
		return g, misused(cmd, "cannot read the selector %q: %v", f.selector, err)
	}
	return g, nil
}

// once asks the controller and writes what was asked for. What is there is
// shown even if something else is not found.
func (g *getting) once(ctx context.Context) error {
	client, p, err := g.at.client()
	if err != nil {
		return err
	}
	show := g.objects
	if g.form.tableForm() != "" {
		show = g.rowsOf
	}
	missing, err := show(ctx, client, p)
	if err != nil {
		return err
	}
	for _, m := range missing {
		g.std.say(m)
	}
	if len(missing) > 0 {
		return errSaid
	}
	return nil
}

// objects shows what is made of whole objects, and gives what is not there.
func (g *getting) objects(ctx context.Context, client *api.Client, p place) (missing []error, err error) {
	found, missing, err := g.ask(ctx, client)
	if err != nil {
		return nil, p.explain(err)
	}
	return missing, cannotWrite(g.form.write(g.std.out, g.want.single(), g.headless, found))
}

// rowsOf shows rows that the controller has made, and gives what is not there.
func (g *getting) rowsOf(ctx context.Context, client *api.Client, p place) (missing []error, err error) {
	t, missing, err := g.askTable(ctx, client)
	if err != nil {
		return nil, p.explain(err)
	}
	if g.form.form == formName {
		return missing, cannotWrite(writeNames(g.std.out, t.Keys()))
	}
	if len(t.Rows) > 0 {
		shown := workloadTable(t)
		shown.headless = g.headless
		if err := shown.write(g.std.out); err != nil {
			return missing, cannotWrite(err)
		}
	}
	g.notes(t.Controller, p, len(t.Rows) == 0 && len(missing) == 0)
	return missing, nil
}

// ask gives what is asked for. For one workload alone the others are asked for
// only where it is not there.
func (g *getting) ask(ctx context.Context, client *api.Client) (found []api.Object, missing []error, err error) {
	if o, there, err := g.one(ctx, client); there || err != nil {
		return []api.Object{o}, nil, err
	}
	all, err := client.Workloads(ctx)
	if err != nil {
		return nil, nil, err
	}
	found, missing = g.want.pick(all)
	return g.labelled(found), missing, nil
}

// askTable does the same for a table.
func (g *getting) askTable(ctx context.Context, client *api.Client) (t api.Table, missing []error, err error) {
	if o, there, err := g.one(ctx, client); there || err != nil {
		return api.NewTable([]api.Object{o}, g.form.tableForm(), time.Now()), nil, err
	}
	if t, err = client.Table(ctx, g.form.tableForm(), g.labels.String()); err != nil || len(g.want) == 0 {
		return t, nil, err
	}
	missing = g.want.missing(t.Keys())
	return t.Keep(g.want.takes), missing, nil
}

// one gives the workload that alone is asked for; that it is not there is no error.
func (g *getting) one(ctx context.Context, client *api.Client) (o api.Object, there bool, err error) {
	if !g.want.single() {
		return o, false, nil
	}
	o, err = client.Workload(ctx, g.want[0])
	if _, no := errors.AsType[*api.Failure](err); no {
		return o, false, nil
	}
	return o, err == nil, err
}

// labelled leaves out what the selector does not take.
func (g *getting) labelled(objects []api.Object) []api.Object {
	if g.labels.Empty() {
		return objects
	}
	var found []api.Object
	for _, o := range objects {
		if g.labels.Matches(labels.Set(o.Metadata.Labels)) {
			found = append(found, o)
		}
	}
	return found
}

// notes tells, to whoever wants to see a table of everything, what the table
// does not show, and to whoever sees none why.
func (g *getting) notes(c *api.Controller, p place, nothing bool) {
	switch {
	case len(g.want) == 0 && g.labels.Empty() && c != nil:
		writeNotes(g.std.err, *c, nothing, g.form.form == formWide, p.manifests)
	case nothing:
		fmt.Fprintln(g.std.err, g.noneFound())
	}
}

// noneFound says what there is none of.
func (g *getting) noneFound() string {
	switch {
	case g.labels.Empty():
		return "No workloads of that kind."
	case len(g.want) == 0:
		return "No workloads whose labels match " + g.labels.String() + "."
	}
	return "No workloads of that kind whose labels match " + g.labels.String() + "."
}

// takes says whether a workload is asked for.
func (g *getting) takes(k spec.Key, with map[string]string) bool {
	return g.want.takes(k) && g.labels.Matches(labels.Set(with))
}

// explain says how to start a controller where none runs.
func (p place) explain(err error) error {
	if !errors.Is(err, api.ErrNotRunning) {
		return err
	}
	return fmt.Errorf("no controller runs for %s; start one with: %s run%s", p.manifests, program, p.flags.given())
}
