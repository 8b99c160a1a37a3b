package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/spec/source"
)

// runFlags are the flags of run alone.
type runFlags struct {
	scopes     string
	deleteHold time.Duration
	trustUIDs  []int
	logFormat  string
	verbose    bool
	remote     portFlags
	// linked is for a set of manifests that a command needs for as long as it
	// runs: see source.Options.Places. None of its workloads is kept.
	linked map[string]string
}

// scopeModes are the words that --scopes takes.
var scopeModes = []string{string(scope.Auto), string(scope.Systemd), string(scope.Cgroup), string(scope.Off)}

// newRun is the verb that is the controller.
func newRun(std streams, at *placeFlags) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the controller, in the foreground",
		Long: `Run the controller in the foreground: it starts what the manifests want, keeps
it running, and follows each change of the directory. It says "ready" on
standard error once the first plan is under way.

SIGINT (Ctrl-C), SIGTERM and SIGHUP end it: workloads are stopped gracefully,
those with onControllerExit: Keep are left running, and the next run takes them
over. A second signal kills what is still there at once.

There is one controller for each directory; a second one says who has it.

The API is on a unix socket, for this user alone. With --listen it is on a port of
this machine too: every request but /healthz has to show the token.`,
		Example: `  proc-controller run
  proc-controller run --manifests ./manifests
  proc-controller run --scopes off -v
  proc-controller run --log-format json 2>>controller.log`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return run(cmd.Context(), std, at, &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.scopes, "scopes", string(scope.Auto), "`MODE` of the cgroups around workloads: auto, systemd, cgroup or off ($PROC_CONTROLLER_SCOPES overrides)")
	flags.DurationVar(&f.deleteHold, "delete-hold", source.DefaultDeleteHold, "`TIME` until it is believed that all manifests are gone")
	flags.IntSliceVar(&f.trustUIDs, "trust-uid", nil, "trust manifests of this `UID` too (may be repeated)")
	flags.StringVar(&f.logFormat, "log-format", "text", "`FORMAT` of the log: text or json")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "log details too")
	f.remote.addTo(flags, "serve the API on `ADDRESS`, too", "(default token in the state directory, made where it is missing)")
	completeWords(cmd, "scopes", scopeModes...)
	completeWords(cmd, "log-format", logFormats...)
	return cmd
}

// check finds values that make no sense.
func (f *runFlags) check(cmd *cobra.Command) error {
	if err := oneOf(cmd, "scopes", f.scopes, scopeModes...); err != nil {
		return err
	}
	if err := oneOf(cmd, "log-format", f.logFormat, logFormats...); err != nil {
		return err
	}
	if err := f.remote.check(cmd); err != nil {
		return err
	}
	if f.deleteHold < 0 {
		return misused(cmd, "bad value %s of --delete-hold: use 0s or more", f.deleteHold)
	}
	for _, uid := range f.trustUIDs {
		if uid < 0 {
			return misused(cmd, "bad value %d of --trust-uid: use the number of a user", uid)
		}
	}
	return nil
}

// lastWords is how long the log may take to be written at the end.
const lastWords = time.Second

// run is the life of one controller. What it finds wrong at the start ends it;
// after it was ready only a signal does.
func run(ctx context.Context, std streams, at *placeFlags, f *runFlags) error {
	// First of all: what was ignored when we began can only be seen now.
	signals := watchSignals()
	binary := programPath()
	heirloom, err := takeHeirloom()
	if err != nil {
		return err
	}
	p, err := at.locate(thisHost())
	if err != nil {
		return err
	}
	return operate(ctx, std, &machine{place: p, signals: signals, heirloom: heirloom}, f, binary)
}

// operate is the life of a controller that has found its place. An upgrade would
// run the binary.
func operate(ctx context.Context, std streams, m *machine, f *runFlags, binary string) error {
	out := newPatientWriter(std.err)
	defer out.Close(lastWords)
	m.log = newLogger(out, f.logFormat, f.verbose, lookFor(std.err, os.Getenv))
	collectLate()
	reserveThreads()
	m.notify = &notifier{log: m.log}
	m.flushLog = func() { out.Flush(lastWords) }
	m.replacing = &replacing{m: m, program: binary}
	if err := m.assemble(f); err != nil {
		return err
	}
	return m.run(ctx)
}
