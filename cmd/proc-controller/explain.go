package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/actuate/journal"
	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// newExplain is the verb that says whose one process is, and why, and what a field
// of a manifest is for.
func newExplain(std streams, at *placeFlags) *cobra.Command {
	var output string
	var recursive bool
	cmd := &cobra.Command{
		Use:   "explain PID|FIELD",
		Short: "Say whose a process is and why, or what a field of a manifest is for",
		Long: `Say of one process whose it is taken to be, with each piece of evidence for and
against it: the markers one by one, user, PID namespace, session, group, scope,
descent and ledger, and what could not be read.

Then say what its controller does with it and why: that one is asked if it runs.
If it does not, say what a controller with these flags would do. Nothing of the
process's environment is shown but its markers.

Or say what a field of a manifest is for: its type, its default, the fields in it,
and whether a change of it restarts what runs. FIELD is a path such as
spec.backoff.max or spec.env.valueFrom, also below a kind: mcpserver.spec.mcp.`,
		Example: `  proc-controller explain 4711
  proc-controller explain $(pgrep -n node) --manifests ./manifests
  proc-controller explain 4711 -o json | jq '.verdict, .against'
  proc-controller explain spec.backoff
  proc-controller explain mcpserver --recursive`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return misused(cmd, "explain takes one argument, the number of a process or a field of a manifest")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(cmd, "output", output, "json"); err != nil {
				return err
			}
			switch {
			case len(args) == 0:
				fmt.Fprint(std.out, explainWays)
				return nil
			case !isPID(args[0]):
				return explainField(cmd, std, args[0], output, recursive)
			case recursive:
				return misused(cmd, "--recursive is for the fields of a manifest")
			}
			pid, err := parsePID(cmd, args[0])
			if err != nil {
				return err
			}
			return explain(cmd.Context(), std, at, pid, output)
		},
	}
	cmd.ValidArgsFunction = completeFields
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FORMAT` of the output: json (default text)")
	cmd.Flags().BoolVar(&recursive, "recursive", false, "show the fields in a field, and those in them, as a tree")
	completeWords(cmd, "output", "json")
	return cmd
}

// parsePID takes the number of a process. A number that is too large for one is
// one that no process has.
func parsePID(cmd *cobra.Command, arg string) (int, error) {
	pid, err := strconv.Atoi(arg)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("no process has the number %s", arg)
	case err != nil:
		return 0, misused(cmd, "cannot explain %q: it is not the number of a process", arg)
	case pid <= 0:
		return 0, misused(cmd, "cannot explain %d: the numbers of processes begin with 1", pid)
	}
	return pid, nil
}

func explain(ctx context.Context, std streams, at *placeFlags, pid int, output string) error {
	p, err := at.locate(thisHost())
	if err != nil {
		return err
	}
	told, err := observe.Explain(ctx, pid, p.viewpoint(ctx))
	if errors.Is(err, observe.ErrGone) {
		return fmt.Errorf("no process has the number %d", pid)
	}
	if err != nil {
		return err
	}
	e := newExplained(told)
	e.Plan = p.planFor(ctx, told, e)
	if output == "json" {
		err = writeJSON(std.out, e)
	} else {
		err = e.write(std.out)
	}
	if err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	return nil
}

// history reads the ledger of the place, without writing to it. It is false
// where there is none.
func (p place) history() (controller.History, bool) {
	state := p.existingState()
	path := filepath.Join(state, ledgerFile)
	if _, err := os.Stat(path); state == "" || err != nil {
		return controller.History{}, false
	}
	return controller.Restore(observe.BootID(), func(yield func(line []byte) bool) {
		_, _ = journal.Load(path, func(line []byte) error { // what can be read is enough
			yield(line)
			return nil
		})
	}), true
}

// usersWait is how long the manifests may hold up what can mostly be said without
// them: one that is being written is waited for.
const usersWait = time.Second

// viewpoint is what is known here of workloads, beside what processes show.
func (p place) viewpoint(ctx context.Context) observe.Viewpoint {
	v := observe.Viewpoint{Owner: p.owner, UID: p.uid, Ledger: p.ledgerOf}
	if p.uid != 0 {
		return v // nobody else starts processes as other users
	}
	ctx, cancel := context.WithTimeout(ctx, usersWait)
	defer cancel()
	if set, err := p.readManifests(ctx); err == nil { // else without: mostly the ledger knows, too
		v.Users = controller.UserWitnesses(controller.UsersOf(set))
	}
	return v
}

// ledgerOf gives what the ledger of an owner knows.
func (p place) ledgerOf(owner spec.Owner) ([]observe.Witness, bool) {
	h, ok := p.of(owner).history()
	return h.Witnesses(), ok
}
