package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/controller/api"
)

// newGet is the verb that shows what a running controller sees.
func newGet(std streams, at *placeFlags) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "get [KIND[/NAME]...]",
		Short: "Show workloads and their status",
		Long: `Show the workloads of a running controller and their status.

KIND is agent or mcpserver (mcp for short). Without arguments everything is
shown. The same flags that "run" was given find the controller.`,
		Example: `  proc-controller get                      # everything
  proc-controller get mcp                  # all MCP servers
  proc-controller get mcp/files -o wide    # one, with instance, ports, scope, file
  proc-controller get mcp/files -o yaml    # the object: manifest and status
  proc-controller get -o json | jq '.items[] | select(.status.phase != "Running")'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(cmd, "output", output, outputs...); err != nil {
				return err
			}
			want, err := parseSelectors(cmd, args)
			if err != nil {
				return err
			}
			return get(cmd.Context(), std, at, want, output)
		},
	}
	cmd.ValidArgsFunction = completeWorkloads(at)
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FORMAT` of the output: wide, json, yaml or name (default a table)")
	completeWords(cmd, "output", outputs...)
	return cmd
}

// outputs are the words that -o takes.
var outputs = []string{"wide", "json", "yaml", "name"}

// get asks the controller and writes what was asked for. What is there is
// shown even if something else is not found.
func get(ctx context.Context, std streams, at *placeFlags, want selectors, output string) error {
	client, p, err := at.client()
	if err != nil {
		return err
	}
	all, err := client.Workloads(ctx)
	if err != nil {
		return p.explain(err)
	}
	found, missing := want.pick(all)
	switch output {
	case "json", "yaml":
		err = writeObjects(std.out, output, want.single(), found)
	case "name":
		err = writeNames(std.out, found)
	default:
		err = writeTable(std, found, output == "wide")
	}
	if err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	if output == "" || output == "wide" {
		notes(ctx, std, client, p, want, len(found) == 0 && len(missing) == 0, output == "wide")
	}
	for _, m := range missing {
		std.say(m)
	}
	if len(missing) > 0 {
		return errSaid
	}
	return nil
}

func writeTable(std streams, found []api.Object, wide bool) error {
	if len(found) == 0 {
		return nil
	}
	return workloadTable(found, time.Now(), wide).write(std.out)
}

// notes tells, to whoever wants to see a table of everything, what the table
// does not show, and to whoever sees none why.
func notes(ctx context.Context, std streams, client *api.Client, p place, want selectors, nothing, wide bool) {
	if len(want) > 0 {
		if nothing {
			fmt.Fprintln(std.err, "No workloads of that kind.")
		}
		return
	}
	// The table is what was asked for: notes that cannot be had are no failure.
	if info, err := client.Controller(ctx); err == nil {
		writeNotes(std.err, info, nothing, wide, p.manifests)
	}
}

// explain says how to start a controller where none runs.
func (p place) explain(err error) error {
	if !errors.Is(err, api.ErrNotRunning) {
		return err
	}
	return fmt.Errorf("no controller runs for %s; start one with: %s run%s", p.manifests, program, p.flags.given())
}
