package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/store"
)

// deleteFlags say what is deleted, and how.
type deleteFlags struct {
	files         []string
	dryRun        bool
	ignoreMissing bool
	wait          waitFlag
}

// newDelete is the verb that takes manifests out of the directory.
func newDelete(std streams, at *placeFlags) *cobra.Command {
	var f deleteFlags
	cmd := &cobra.Command{
		Use:   "delete {KIND/NAME... | -f {FILE|DIR|-}...}",
		Short: "Take manifests out of the directory, which stops their workloads",
		Long: `Take manifests out of the directory of the manifests. Their workloads are stopped,
and it waits until nothing of them is left.

With -f the names are read from manifests, which may have mistakes elsewhere. A
document is cut out of the file that holds it, and the rest stays as it is; a file
that holds nothing else is removed. Where one name is not found nothing is changed.

Without a controller nothing is stopped: what was left running is, by the next one.`,
		Example: `  proc-controller delete mcp/files
  proc-controller delete agent/coder mcp/files --no-wait
  proc-controller delete -f files.yaml --ignore-not-found`,
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := f.named(cmd, args)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), std, at, keys)
		},
	}
	cmd.ValidArgsFunction = completeWorkloads(at)
	addFileFlag(cmd, &f.files, "what to delete")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say what would happen")
	cmd.Flags().BoolVar(&f.ignoreMissing, "ignore-not-found", false, "take what is not there for deleted")
	f.wait.add(cmd.Flags(), true, "wait until nothing of them is left")
	return cmd
}

// named reads the arguments.
func (f *deleteFlags) named(cmd *cobra.Command, args []string) ([]spec.Key, error) {
	switch {
	case len(args) > 0 && len(f.files) > 0:
		return nil, misused(cmd, "names and -f exclude one another")
	case len(args) == 0 && len(f.files) == 0:
		return nil, misused(cmd, "say what: KIND/NAME, or -f FILE")
	}
	want, err := parseSelectors(cmd, args)
	if err != nil {
		return nil, err
	}
	for i, k := range want {
		if k.Name == "" {
			return nil, misused(cmd, "which %s? write %s/NAME", args[i], args[i])
		}
	}
	return want, nil
}

func (f *deleteFlags) run(ctx context.Context, std streams, at *placeFlags, keys []spec.Key) error {
	client, p, err := at.client()
	if err != nil {
		return err
	}
	if len(f.files) > 0 {
		if keys, err = keysGiven(std, p, f.files); err != nil {
			return err
		}
	}
	change := store.Change
	if f.dryRun {
		change = store.Try
	}
	var gone []spec.Key
	var unclear []error
	err = change(ctx, p.manifests, func(c *store.Content) (err error) {
		gone, err = f.removeAll(std, c, keys)
		for _, k := range gone {
			if err := c.Unclear(k); err != nil {
				unclear = append(unclear, fmt.Errorf("%s is not stopped yet: %w", shortName(k), err))
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, k := range gone {
		text := shortName(k) + " deleted"
		if f.dryRun {
			text += " (dry run)"
		}
		if _, err := fmt.Fprintln(std.out, text); err != nil {
			return fmt.Errorf("cannot write: %w", err)
		}
	}
	if f.dryRun || len(gone) == 0 {
		return nil
	}
	if _, err := client.Workloads(ctx); err != nil {
		return f.wait.without(std, p, err)
	}
	for _, err := range unclear { // the controller does not believe it either
		std.say(err)
	}
	if len(unclear) > 0 {
		return errSaid
	}
	return f.wait.until(ctx, std, client, p, settling{keys: gone, aim: "gone", judge: goneState})
}

// keysGiven reads the names out of manifests.
func keysGiven(std streams, p place, files []string) ([]spec.Key, error) {
	g, err := readGiven(std, p, files)
	if err != nil {
		return nil, err
	}
	keys := g.keys()
	if len(keys) > 0 {
		return keys, nil
	}
	if err := g.refuse(); err != nil {
		return nil, err
	}
	return nil, errors.New("no object is named in what was given: nothing was changed")
}

// removeAll takes the objects out; of those that are not there it says so, and
// then nothing is changed.
func (f *deleteFlags) removeAll(std streams, c *store.Content, keys []spec.Key) (gone []spec.Key, err error) {
	missing := false
	for _, k := range keys {
		if !c.Has(k) {
			if err := f.notThere(c, k); err != nil {
				std.say(err)
				missing = true
			}
			continue
		}
		if _, err := c.Remove(k); err != nil {
			return nil, err
		}
		gone = append(gone, k)
	}
	if missing {
		if len(gone) > 0 {
			fmt.Fprintln(std.err, "Nothing was changed.")
		}
		return nil, errSaid
	}
	return gone, nil
}

// notThere is the error for a name that no manifest has; nil where that is wanted.
func (f *deleteFlags) notThere(c *store.Content, k spec.Key) error {
	if err := c.Unclear(k); err != nil {
		return err
	}
	if f.ignoreMissing {
		return nil
	}
	return noManifest(k, c.Keys(), c.Dir)
}

// noManifest says that no manifest has a name, and which one has one that is near.
func noManifest(k spec.Key, there []spec.Key, dir string) error {
	var objects []api.Object
	for _, o := range there {
		objects = append(objects, api.Object{Kind: o.Kind, Metadata: spec.Metadata{Name: o.Name}})
	}
	return fmt.Errorf("%w in %s", notFound(k, objects), dir)
}

// goneState says whether nothing of a workload is left.
func goneState(_ spec.Key, o *api.Object) waitState {
	if o == nil {
		return waitState{met: true}
	}
	return waitState{why: stillRuns(o)}
}
