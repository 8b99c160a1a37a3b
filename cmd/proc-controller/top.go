package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/controller/api"
)

// topInterval lies between two samples of the live view, topSoon between the first
// two of them; topOnce between the two that a single table needs.
const (
	topInterval = 2 * time.Second
	topSoon     = 500 * time.Millisecond
	topOnce     = time.Second
)

// topFlags say what is shown, and how.
type topFlags struct {
	once, headless bool
	sort, output   string
}

// newTop is the verb that shows what workloads use.
func newTop(std streams, at *placeFlags) *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use:   "top [KIND[/NAME]...]",
		Short: "Show what workloads use: processor, memory, descriptors, processes",
		Long: `Show what the processes of each workload use that runs now: processor time in
percent of one processor, memory, open descriptors, and how many they are.

In a terminal it goes on until q or Ctrl-C; c, m, d, p and n sort by CPU, memory,
descriptors, processes and name. Elsewhere, and with --once, it is one table for
one second.

SOURCE says where CPU and memory were read: the cgroup of the workload, where it
has one that counts them, page cache included; else its tree, as the sum over its
processes of what is resident.`,
		Example: `  proc-controller top
  proc-controller top mcp --sort memory
  proc-controller top -o json | jq '.[] | select(.memoryBytes > 1e9).name'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(cmd, "output", f.output, "json"); err != nil {
				return err
			}
			if err := oneOf(cmd, "sort", f.sort, topOrders...); err != nil {
				return err
			}
			want, err := parseSelectors(cmd, args)
			if err != nil {
				return err
			}
			return top(cmd.Context(), std, at, want, &f)
		},
	}
	cmd.ValidArgsFunction = completeWorkloads(at)
	flags := cmd.Flags()
	flags.BoolVar(&f.once, "once", false, "one table, also in a terminal")
	flags.StringVar(&f.sort, "sort", orderCPU, "`ORDER` of the rows: cpu, memory, descriptors, processes or name")
	flags.StringVarP(&f.output, "output", "o", "", "`FORMAT` of the output: json (default a table)")
	flags.BoolVar(&f.headless, "no-headers", false, "leave the head of the table out")
	completeWords(cmd, "sort", topOrders...)
	completeWords(cmd, "output", "json")
	return cmd
}

func top(ctx context.Context, std streams, at *placeFlags, want selectors, f *topFlags) error {
	client, p, err := at.client()
	if err != nil {
		return err
	}
	first, err := client.Usage(ctx)
	if err != nil {
		return p.explain(err)
	}
	if err := whoIsMissing(ctx, std, client, want, first); err != nil {
		return err
	}
	look := terminalOf(std.out, os.Getenv)
	if f.output == "" && !f.once && look.moves(os.Getenv) {
		return watchTop(ctx, std, look, client, want, f, first)
	}
	select {
	case <-time.After(topOnce):
	case <-ctx.Done():
		return ctx.Err()
	}
	second, err := client.Usage(ctx)
	if err != nil {
		return p.explain(err)
	}
	return cannotWrite(writeTop(std, topRows(want, first, second, f.sort), f))
}

// whoIsMissing says of the names that were given which are not there, or do not
// run.
func whoIsMissing(ctx context.Context, std streams, client *api.Client, want selectors, running []api.Usage) error {
	idle := false
	for _, k := range want {
		if k.Name == "" || uses(running, k.String()) {
			continue
		}
		o, err := client.Workload(ctx, k)
		no, is := errors.AsType[*api.Failure](err)
		switch {
		case err == nil:
			std.say(fmt.Errorf("nothing of %s runs: it is %s", shortName(k), o.Status.Phase))
		case is && no.Code == http.StatusNotFound:
			all, _ := client.Workloads(ctx) // without them nothing is near
			std.say(notFound(k, all))
		default:
			return err
		}
		idle = true
	}
	if idle {
		return errSaid
	}
	return nil
}

func uses(running []api.Usage, key string) bool {
	for i := range running {
		if running[i].Key == key {
			return true
		}
	}
	return false
}

// writeTop writes one table, or a list.
func writeTop(std streams, rows []topRow, f *topFlags) error {
	if f.output == "json" {
		return writeJSON(std.out, rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(std.err, "No workload runs.")
		return nil
	}
	t := &table{headless: f.headless}
	t.add(topHead...)
	for i := range rows {
		t.add(rows[i].cells()...)
	}
	return t.write(std.out)
}
