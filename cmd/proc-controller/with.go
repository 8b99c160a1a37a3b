package main

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/source"
)

// The exit codes of with, beside those of its command: a signal adds its number
// to exitSignal, as in a shell.
const (
	exitNotReady = 125
	exitLeak     = 126
	exitNotFound = 127
	exitSignal   = 128
)

// withFlags are the flags of with.
type withFlags struct {
	files     []string
	timeout   time.Duration
	scopes    string
	trustUIDs []int
	quiet     bool
	verbose   bool
}

// newWith is the verb that runs a command together with what it needs.
func newWith(std streams, at *placeFlags) *cobra.Command {
	var f withFlags
	cmd := &cobra.Command{
		Use:   "with [-f FILE|DIR]... [flags] -- COMMAND [ARG...]",
		Short: "Run a command, for tests, while a set of workloads is there for it",
		Long: `Start the workloads of some manifests, wait until all are ready, run a command,
and stop everything again. What it starts is apart from every other controller
and from every other such run: it has an owner, directories and ports of its own.

The command finds in its environment:

  MCP_CONFIG              a file with all MCP servers, in the form of MCP clients
  PROC_CONTROLLER_SOCKET  the socket of the controller, so that other verbs find it
  FILES_URL, FILES_PORT   where a workload named files is: http://127.0.0.1:PORT,
                          and the path if it has one; other characters become _
  FILES_PORT_ADMIN        its port named admin

A workload that runs once counts as ready when it has completed; one that is
suspended is not waited for. No workload outlives the command: each counts as
onControllerExit: Stop. A process that is left in the end, of a workload or of the
command, is named and ended, and the run has failed.

Ctrl-C and other signals reach the command; the set is stopped after it. Nothing
stays, even where this program itself is killed.

The exit code is that of the command (128+N for signal N), or
  125  the set did not get ready; the last lines of what failed are shown
  126  a process was left
  127  there is no such command`,
		Example: `  proc-controller with -f ./manifests -- pytest -q
  proc-controller with -f server.yaml -f agent.yaml --timeout 30s -- make e2e
  proc-controller with -f . -- sh -c 'curl -s "$FILES_URL"'
  proc-controller with -f . -- proc-controller get    # what a command would see`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args, at); err != nil {
				return err
			}
			return with(std, at, &f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.files, "filename", "f", nil, "`FILE|DIR` with manifests (may be repeated; default the directory of --manifests)")
	flags.DurationVar(&f.timeout, "timeout", 2*time.Minute, "how long the set may take to be ready, as `TIME`: 30s, 5m")
	flags.StringVar(&f.scopes, "scopes", string(scope.Auto), "`MODE` of the cgroups around workloads: auto, systemd, cgroup or off ($PROC_CONTROLLER_SCOPES overrides)")
	flags.IntSliceVar(&f.trustUIDs, "trust-uid", nil, "trust manifests of this `UID` too (may be repeated)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "say only what goes wrong")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show the log of the controller")
	completeWords(cmd, "scopes", scopeModes...)
	return cmd
}

// check finds what makes no sense on the command line.
func (f *withFlags) check(cmd *cobra.Command, args []string, at *placeFlags) error {
	dash := cmd.ArgsLenAtDash()
	switch {
	case len(args) == 0:
		return misused(cmd, "say which command to run: with -f DIR -- COMMAND")
	case dash < 0:
		return misused(cmd, "write -- before the command: -- %s", args[0])
	case dash > 0:
		return misused(cmd, "cannot understand %q before --: manifests are given by -f", args[0])
	case f.timeout <= 0:
		return misused(cmd, "the timeout must be more than nothing, and is %v", f.timeout)
	case at.owner != "" || at.stateDir != "" || at.socket != "":
		return misused(cmd, "--owner, --state-dir and --socket are not for this command: it has its own for each run")
	case len(f.files) > 0 && at.manifests != "":
		return misused(cmd, "-f and --manifests exclude one another")
	}
	run := runFlags{scopes: f.scopes, trustUIDs: f.trustUIDs, logFormat: "text"}
	return run.check(cmd)
}

// with checks what is given, and hands over to withFront.
func with(std streams, at *placeFlags, f *withFlags, argv []string) error {
	if len(f.files) == 0 {
		p, err := at.locate(thisHost())
		if err != nil {
			return err
		}
		f.files = []string{p.manifests}
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		std.say(fmt.Errorf("cannot run %s: %v", argv[0], cause(err)))
		return endedWith(exitNotFound)
	}
	set, err := f.readSet(std)
	if err != nil {
		std.say(err)
		return endedWith(exitNotReady)
	}
	return withFront(std, &withBrief{
		Owner: newWithOwner(), Manifests: set.files, Keys: set.keys, Command: argv, Timeout: f.timeout,
		Scopes: f.scopes, TrustUIDs: f.trustUIDs, Quiet: f.quiet, Verbose: f.verbose,
	})
}

// newWithOwner names one run. Nobody else has that name.
func newWithOwner() spec.Owner {
	var random [8]byte
	_, _ = rand.Read(random[:]) // it never fails
	return spec.Owner("with-" + hex.EncodeToString(random[:]))
}

// withSet is what is to be there for a command.
type withSet struct {
	files []string   // absolute
	keys  []spec.Key // to wait for
}

// readSet reads the manifests once, to find mistakes before anything is started,
// and what there is to wait for.
func (f *withFlags) readSet(std streams) (set withSet, err error) {
	c := checker{std: streams{out: std.err, err: std.err}, home: os.Getenv("HOME")}
	for _, path := range f.files {
		files, err := manifestFiles(path)
		if err != nil {
			return set, err
		}
		set.files = append(set.files, files...)
	}
	slices.Sort(set.files)
	set.files = slices.Compact(set.files)
	for _, path := range set.files {
		if err := c.file(path); err != nil {
			return set, err
		}
	}
	c.together()
	c.arrange()
	if len(c.findings) > 0 {
		c.tell()
		return set, errSaid
	}
	if len(c.objects) == 0 {
		return set, fmt.Errorf("cannot start a set without workloads: there is no manifest in %s", joinedPaths(f.files))
	}
	for _, o := range c.objects {
		if sp := &o.Object.Spec; !sp.Suspend && (sp.Replicas == nil || *sp.Replicas > 0) {
			set.keys = append(set.keys, o.Object.Key())
		}
	}
	slices.SortFunc(set.keys, spec.Key.Compare)
	return set, nil
}

// manifestFiles gives the path of a file, or those of the manifests of a
// directory.
func manifestFiles(path string) ([]string, error) {
	if path == "-" {
		return nil, fmt.Errorf("cannot read manifests from standard input: it is that of the command; give a file with -f")
	}
	fi, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the manifests in %s: %v", path, cause(err))
	}
	abs, err := filepath.Abs(path)
	switch {
	case err != nil:
		return nil, err
	case fi.Mode().IsRegular():
		return []string{abs}, nil
	case !fi.IsDir():
		return nil, fmt.Errorf("cannot read the manifests in %s: it is neither a file nor a directory", path)
	}
	entries, err := os.ReadDir(abs)
	if err != nil {
		return nil, fmt.Errorf("cannot read the manifests in %s: %v", path, cause(err))
	}
	var files []string
	for _, e := range entries {
		file := filepath.Join(abs, e.Name())
		if fi, err := os.Stat(file); source.IsManifest(e.Name()) && err == nil && fi.Mode().IsRegular() {
			files = append(files, file)
		}
	}
	return files, nil
}

func joinedPaths(paths []string) string {
	if len(paths) == 1 {
		return cmp.Or(paths[0], "the directory")
	}
	return fmt.Sprint(paths)
}
