package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/actuate/journal"
	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/spec"
)

// eventsFile is the event log in the state directory.
const eventsFile = "events.jsonl"

// defaultEvents is how many events are shown unless it is said otherwise.
const defaultEvents = 100

// eventsFlags say which events are shown.
type eventsFlags struct {
	output string
	since  time.Duration
	limit  int
	all    bool
	watch  bool
}

// newEvents is the verb that shows what has happened.
func newEvents(std streams, at *placeFlags) *cobra.Command {
	var f eventsFlags
	cmd := &cobra.Command{
		Use:   "events [KIND[/NAME]...]",
		Short: "Show what has happened: starts, exits, and each signal with its evidence",
		Long: `Show what has happened, the oldest first: starts and failed starts, exits,
adoptions, and each signal with its target, its reason, the evidence that the
target is ours, and what came of it. A signal that was refused has a line, too.

The events are read from the state directory, which keeps the newest 8 MiB of
them. No controller is needed, but for -w, which goes on with what happens, also
across a restart of the controller.`,
		Example: `  proc-controller events                          # the newest 100
  proc-controller events mcp/files --since 10m    # one workload, the last ten minutes
  proc-controller events agents -w                # and what happens from now on
  proc-controller events --all -o json | jq '.[] | select(.type == "Signalled")'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			want, err := parseSelectors(cmd, args)
			if err != nil {
				return err
			}
			if f.watch {
				return view(cmd.Context(), std.out, func(ctx context.Context) error {
					return watchEvents(ctx, std, at, want, &f)
				})
			}
			return events(std, at, want, &f)
		},
	}
	cmd.ValidArgsFunction = completeWorkloads(at)
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "`FORMAT` of the output: json (default a table); with -w one object a line")
	flags.BoolVarP(&f.watch, "watch", "w", false, "go on and show what happens, until Ctrl-C")
	flags.DurationVar(&f.since, "since", 0, "only what happened in this `TIME` before now, 10m or 2h30m")
	flags.IntVar(&f.limit, "limit", defaultEvents, "show the newest `N`")
	flags.BoolVar(&f.all, "all", false, "show all that are kept")
	completeWords(cmd, "output", "json")
	return cmd
}

func (f *eventsFlags) check(cmd *cobra.Command) error {
	switch {
	case cmd.Flags().Changed("since") && f.since <= 0:
		return misused(cmd, "bad value %s of --since: use more than 0s", f.since)
	case f.limit <= 0:
		return misused(cmd, "bad value %d of --limit: use 1 or more, or --all", f.limit)
	case f.all && cmd.Flags().Changed("limit"):
		return misused(cmd, "--all and --limit exclude one another")
	}
	return oneOf(cmd, "output", f.output, "json")
}

// events shows what can be read, also where not everything can.
func events(std streams, at *placeFlags, want selectors, f *eventsFlags) error {
	p, err := at.locate(thisHost())
	if err != nil {
		return err
	}
	state, err := p.stateDir()
	if err != nil {
		return err
	}
	path := filepath.Join(state, eventsFile)
	found, loadErr := loadEvents(path, want, f)
	shown := f.newest(found)
	if err := writeEvents(std, shown, f.output); err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	switch {
	case loadErr != nil:
		return fmt.Errorf("cannot read all events: %w", loadErr)
	case f.output == "json":
	case len(found) == 0:
		fmt.Fprintln(std.err, noEvents(path))
	case len(shown) < len(found):
		fmt.Fprintf(std.err, "note: the newest %d of %d events; --all shows them all\n", len(shown), len(found))
	}
	return nil
}

// newest gives those of the events that are shown.
func (f *eventsFlags) newest(found []controller.Occurrence) []controller.Occurrence {
	if f.all {
		return found
	}
	return found[max(0, len(found)-f.limit):]
}

// from is the time from which on they are asked for; zero for all.
func (f *eventsFlags) from() time.Time {
	if f.since <= 0 {
		return time.Time{}
	}
	return time.Now().Add(-f.since)
}

// noEvents says why there is nothing to show.
func noEvents(path string) string {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "No events: there is no " + path + "."
	}
	return "No such events in " + path + "."
}

// loadEvents reads the events that are asked for, the oldest first.
func loadEvents(path string, want selectors, f *eventsFlags) ([]controller.Occurrence, error) {
	from := f.from()
	found := []controller.Occurrence{}
	_, err := journal.Load(path, func(line []byte) error {
		var o controller.Occurrence
		if err := json.Unmarshal(line, &o); err != nil {
			return err
		}
		if o.Time.Before(from) || !want.asksFor(o.Key) {
			return nil
		}
		found = append(found, o)
		return nil
	})
	return found, err
}

// asksFor says whether a workload is one of those asked for.
func (want selectors) asksFor(key string) bool {
	k, err := spec.ParseKey(key)
	return len(want) == 0 || err == nil && want.takes(k)
}
