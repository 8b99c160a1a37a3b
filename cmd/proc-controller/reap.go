package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// reapFlags are the flags of reap alone.
type reapFlags struct {
	orphaned, keep, dryRun bool
	grace                  time.Duration
	graceGiven             bool
	output                 string
}

// newReap is the verb that stops what a dead controller has left.
func newReap(std streams, at *placeFlags) *cobra.Command {
	var f reapFlags
	cmd := &cobra.Command{
		Use:   "reap",
		Short: "Stop what a dead controller has left running",
		Long: `Stop the processes that a controller which is dead has left: whole instances,
with every member that is verified, by stop signal, grace period and SIGKILL,
until nothing of them is found. It needs no controller and no state directory.

It refuses while the controller of the owner lives, or where that cannot be
told, and no controller of that owner can start while it works. Workloads with
onControllerExit: Keep are left running unless --include-keep is given. What
cannot be told is never signalled, and named.

The exit code is 0 if nothing is left, and 1 if something is.`,
		Example: `  proc-controller reap --dry-run                  # what it would signal
  proc-controller reap                            # of the default directory
  proc-controller reap --manifests ./manifests --include-keep --grace 2s
  proc-controller reap --owner ci-42              # of an owner by name
  proc-controller reap --orphaned --dry-run       # of every dead controller`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.graceGiven = cmd.Flags().Changed("grace")
			if err := f.check(cmd, at); err != nil {
				return err
			}
			return reap(cmd.Context(), std, at, &f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.orphaned, "orphaned", false, "reap for every owner of this user whose controller is dead")
	flags.BoolVar(&f.keep, "include-keep", false, "stop workloads with onControllerExit: Keep, too")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would be signalled, and signal nothing")
	flags.DurationVar(&f.grace, "grace", 0, "`TIME` between stop signal and SIGKILL (default that of the workload if the state directory knows it, else 10s)")
	flags.StringVarP(&f.output, "output", "o", "", "`FORMAT` of the output: json (default a table)")
	completeWords(cmd, "output", "json")
	return cmd
}

func (f *reapFlags) check(cmd *cobra.Command, at *placeFlags) error {
	switch {
	case f.grace < 0:
		return misused(cmd, "bad value %s of --grace: use 0s or more", f.grace)
	case f.orphaned && at.owner != "":
		return misused(cmd, "--orphaned and --owner exclude one another")
	}
	return oneOf(cmd, "output", f.output, "json")
}

// reap clears up for one owner after the other, and shows what came of it.
func reap(ctx context.Context, std streams, at *placeFlags, f *reapFlags) error {
	p, err := at.locate(thisHost())
	if err != nil {
		return err
	}
	owners := []spec.Owner{p.owner}
	if f.orphaned {
		if owners, err = orphanedOwners(ctx, std, p); err != nil {
			return err
		}
	}
	rows, left := []reapRow{}, false
	for _, owner := range owners {
		r := newReaping(std, p.of(owner), f)
		err := r.run(ctx)
		if err != nil && !f.orphaned {
			return err
		}
		std.say(err)
		rows = append(rows, r.rows...)
		left = left || err != nil || r.left
	}
	if err := writeReaped(std, rows, f.output); err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	if left {
		return errSaid
	}
	return nil
}

// orphanedOwners are the owners of the user's processes whose controllers are
// dead. Those of which that cannot be told are named.
func orphanedOwners(ctx context.Context, std streams, p place) ([]spec.Owner, error) {
	seen, err := observe.ScanAll(ctx, p.viewpoint(ctx))
	if err != nil {
		return nil, err
	}
	var owners []spec.Owner
	asked := map[spec.Owner]bool{}
	for _, s := range seen {
		if s.Verdict != observe.Ours || s.OwnerUID != p.uid || s.Owner == "" || asked[s.Owner] {
			continue
		}
		asked[s.Owner] = true
		switch err := refuseToReap(p.uid, s.Owner); {
		case err == nil:
			owners = append(owners, s.Owner)
		case !err.alive:
			fmt.Fprintf(std.err, "note: left alone: %v\n", err)
		}
	}
	return owners, nil
}

// notReaped is why nothing is stopped for an owner.
type notReaped struct {
	owner spec.Owner
	alive bool
	why   string
}

func (e *notReaped) Error() string {
	return fmt.Sprintf("cannot reap for owner %s: %s", e.owner, e.why)
}

// refuseToReap says why nothing may be stopped: the controller of the owner
// lives, or it cannot be told whether it does. Nil allows it.
func refuseToReap(uid int, owner spec.Owner) *notReaped {
	pid, alive, known := observe.OwnerAlive(uid, owner)
	switch {
	case !known:
		return &notReaped{owner, false, "whether its controller lives cannot be told"}
	case alive && pid == 0:
		return &notReaped{owner, true, "its controller runs; stop that one first"}
	case alive:
		return &notReaped{owner, true, fmt.Sprintf("its controller runs (pid %d); stop that one first", pid)}
	}
	return nil
}

// of is the place of another owner: what was given by flag belongs to the one
// of the flags alone.
func (p place) of(owner spec.Owner) place {
	if owner == p.owner {
		return p
	}
	o := p
	o.owner, o.manifests, o.byDefault = owner, "", false
	o.flags = placeFlags{owner: string(owner)}
	getenv := p.host.getenv
	o.host.getenv = func(name string) string {
		if name == "PROC_CONTROLLER_SOCKET" {
			return ""
		}
		return getenv(name)
	}
	return o
}

// existingState is the state directory if there is one that can be believed,
// else empty.
func (p place) existingState() string {
	dir, err := p.stateDir()
	if err != nil {
		return ""
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return ""
	}
	return dir
}
