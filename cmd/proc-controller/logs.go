package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/proc-controller/proc-controller/actuate/logs"
	"github.com/proc-controller/proc-controller/spec"
)

// logsFlags say which lines are shown.
type logsFlags struct {
	follow, previous, timestamps, allMembers bool
	tail                                     int
	since                                    time.Duration
	selector                                 string
}

// newLogs is the verb that shows what workloads have written.
func newLogs(std streams, at *placeFlags) *cobra.Command {
	var f logsFlags
	cmd := &cobra.Command{
		Use:   "logs {KIND[/NAME]... | -l SELECTOR}",
		Short: "Show what workloads have written",
		Long: `Show what workloads have written to stdout and stderr, the oldest first: the
output of the present run, or, where none goes on, of the last one.

With -f it goes on with what is written, and with the next instance where one
takes the place of the last: everything of the old one first, then the new one.
Press Ctrl-C to end it.

All processes of an instance write to one file. Where several instances run
(replicas), the newest is shown; --all-members shows each of them, with a part of
its name before each line.

Nobody stamps the lines, since a workload writes its file itself. Times are known
to about a second, and marked with a ~; one that is not known is a -.

How much is kept is said in the manifest (logs.maxBytes, logs.keep): the newest
10 MiB of each run, and 3 former runs, unless it says otherwise. The files are
read in the state directory, so no controller is needed.`,
		Example: `  proc-controller logs mcp/files                    # all that is kept of this run
  proc-controller logs mcp/files -f --tail 20       # the last lines, and what comes
  proc-controller logs mcp/files --previous         # why it died
  proc-controller logs -l team=dev --since 10m      # several, each line with its name
  proc-controller logs agent/reader --timestamps`,
		RunE: func(cmd *cobra.Command, args []string) error {
			want, matching, err := f.parse(cmd, args)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), std, at, want, matching)
		},
	}
	cmd.ValidArgsFunction = completeWorkloads(at)
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on with what is written, until Ctrl-C")
	flags.IntVar(&f.tail, "tail", -1, "show the last `N` lines of each run only")
	flags.Lookup("tail").DefValue = "all"
	flags.DurationVar(&f.since, "since", 0, "only what was written in this `TIME` before now, 10m or 2h30m")
	flags.BoolVarP(&f.previous, "previous", "p", false, "show the run before the present one")
	flags.BoolVar(&f.timestamps, "timestamps", false, "show about when each line was written")
	flags.BoolVar(&f.allMembers, "all-members", false, "show every instance that runs, not the newest alone")
	flags.StringVarP(&f.selector, "selector", "l", "", "show those whose labels match `SELECTOR`: team=dev,tier!=test")
	return cmd
}

// parse checks what was asked for. Without labels the selector is nil.
func (f *logsFlags) parse(cmd *cobra.Command, args []string) (want selectors, matching labels.Selector, err error) {
	switch {
	case len(args) == 0 && f.selector == "":
		return nil, nil, misused(cmd, "say whose lines: KIND/NAME, a KIND for all of it, or -l SELECTOR")
	case len(args) > 0 && f.selector != "":
		return nil, nil, misused(cmd, "-l and names contradict each other")
	case f.tail < -1:
		return nil, nil, misused(cmd, "bad value %d of --tail: use a number of lines, or -1 for all", f.tail)
	case cmd.Flags().Changed("since") && f.since <= 0:
		return nil, nil, misused(cmd, "bad value %s of --since: use more than 0s", f.since)
	case f.previous && f.follow:
		return nil, nil, misused(cmd, "--previous and -f contradict each other: a former run writes no more")
	}
	if f.selector != "" {
		if matching, err = labels.Parse(f.selector); err != nil {
			return nil, nil, misused(cmd, "bad value %q of -l: %v", f.selector, err)
		}
	}
	want, err = parseSelectors(cmd, args)
	return want, matching, err
}

// query is what is asked of each workload.
func (f *logsFlags) query(idle func()) logs.Query {
	q := logs.Query{Follow: f.follow, Tail: f.tail, Previous: f.previous, AllMembers: f.allMembers, Idle: idle}
	if f.since > 0 {
		q.Since = time.Now().Add(-f.since)
	}
	return q
}

// lineSource gives the lines of a workload, as logs.Read does.
type lineSource func(context.Context, spec.Key, logs.Query, func(logs.Line) error) error

// run shows the lines. Whoever reads them and has had enough (head, say) ends it,
// which is no failure.
func (f *logsFlags) run(ctx context.Context, std streams, at *placeFlags, want selectors, matching labels.Selector) error {
	// Else the first write to a closed pipe ends the program before it can tell.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	defer signal.Stop(pipes)
	found, err := f.find(ctx, std, at, want, matching)
	if err != nil {
		return err
	}
	p := newLinePrinter(std, found.keys, f)
	if f.follow {
		err = f.followAll(ctx, found, p)
	} else {
		err = errors.Join(f.showInTurn(ctx, found, p), p.end())
	}
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// followAll ends with Ctrl-C or with its reader: that is how it is meant to end.
// A reader that takes nothing any more is not waited for.
func (f *logsFlags) followAll(ctx context.Context, found foundLogs, p *linePrinter) error {
	ctx, cancel := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer cancel()
	context.AfterFunc(readerGone(p.std.out), cancel)
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(f.showTogether(ctx, found, p), p.end()) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(lastWords):
		return nil
	}
}

// showInTurn shows one workload after the other.
func (f *logsFlags) showInTurn(ctx context.Context, found foundLogs, p *linePrinter) error {
	missing := false
	for _, key := range found.keys {
		before := p.lines
		err := found.lines(ctx, key, f.query(nil), p.of(key))
		silent := p.lines == before && f.tail != 0 && f.since == 0
		switch {
		case isNone(err) && f.previous:
			p.std.say(fmt.Errorf("no former run of %s is kept", shortName(key)))
			missing = true
		case err != nil && !isNone(err):
			return fmt.Errorf("cannot show the lines of %s: %w", shortName(key), err)
		case silent:
			p.note("%s has written nothing that is kept", shortName(key))
		}
	}
	if missing {
		return errSaid
	}
	return nil
}

// showTogether shows what each of them writes, as it comes. The first failure
// ends all.
func (f *logsFlags) showTogether(ctx context.Context, found foundLogs, p *linePrinter) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	var first error
	var once sync.Once
	for _, key := range found.keys {
		all.Go(func() {
			if err := found.lines(ctx, key, f.query(p.flush), p.of(key)); err != nil {
				once.Do(func() { first = fmt.Errorf("cannot show the lines of %s: %w", shortName(key), err) })
				cancel(err)
			}
		})
	}
	all.Wait()
	return first
}
