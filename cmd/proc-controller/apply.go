package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/edit"
	"github.com/proc-controller/proc-controller/spec/store"
)

// applyFlags say what is applied, and how.
type applyFlags struct {
	files  []string
	dryRun bool
	wait   waitFlag
}

// newApply is the verb that puts manifests into the directory.
func newApply(std streams, at *placeFlags) *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:   "apply -f {FILE|DIR|-}...",
		Short: "Put manifests into the directory of the manifests",
		Long: `Put manifests into the directory of the manifests, where a controller finds them.

All of them are checked first, as validate does; where something is wrong nothing
is changed. What is there already is changed in the file that holds it: its
document becomes the given text, and the rest of the file stays as it is. What is
new keeps the name of its file, if that is free, or gets a file named after kind
and name. Relative paths in a manifest count from the directory that it is put into.

For what is changed it says what happens to the workload: which fields are applied
to what runs, and which restart it. No controller has to run: the files are the
truth, and the next one reads them.`,
		Example: `  proc-controller apply -f files.yaml
  proc-controller apply -f ./manifests --dry-run
  proc-controller apply -f files.yaml --wait --timeout 2m
  kustomize build . | proc-controller apply -f -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := onlyFiles(cmd, args, f.files); err != nil {
				return err
			}
			return f.run(cmd.Context(), std, at)
		},
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions // files go with -f
	addFileFlag(cmd, &f.files, "what to apply")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say what would happen")
	f.wait.add(cmd.Flags(), false, "wait until what was changed is ready")
	return cmd
}

// onlyFiles refuses arguments where -f is meant.
func onlyFiles(cmd *cobra.Command, args, files []string) error {
	switch {
	case len(args) > 0:
		return misused(cmd, "unexpected argument %q: write -f %s for a file", args[0], spec.ShellWord(args[0]))
	case len(files) == 0:
		return misused(cmd, "say what: -f FILE, -f DIR or -f - for standard input")
	}
	return nil
}

func (f *applyFlags) run(ctx context.Context, std streams, at *placeFlags) error {
	client, p, err := at.client()
	if err != nil {
		return err
	}
	g, err := readGiven(std, p, f.files)
	if err != nil {
		return err
	}
	// Everything that is wrong is told at once, also what is only so beside others.
	if c, err := store.Load(p.manifests); err == nil {
		g.beside(c)
	}
	if err := g.refuse(); err != nil {
		return err
	}
	running, lost := client.Workloads(ctx) // before anything happens
	change, err := f.change(std, p)
	if err != nil {
		return err
	}
	var done []applied
	err = change(ctx, p.manifests, func(c *store.Content) (err error) {
		if g.beside(c); g.refuse() != nil { // somebody else was quicker
			return errSaid
		}
		done, err = putAll(c, g)
		return err
	})
	if err != nil {
		return err
	}
	known := byKey(running)
	for i := range done {
		if err := done[i].tell(std.out, known[done[i].object.Key()], f.dryRun); err != nil {
			return fmt.Errorf("cannot write: %w", err)
		}
	}
	if len(done) == 0 {
		fmt.Fprintln(std.err, "No objects: nothing was changed.")
	}
	if f.dryRun {
		return nil
	}
	if lost != nil {
		return f.wait.without(std, p, lost)
	}
	return f.wait.until(ctx, std, client, p, readyAim(done))
}

// change is how the directory is changed, which is made where it is the default one
// and missing; or how that is only tried.
func (f *applyFlags) change(std streams, p place) (func(context.Context, string, func(*store.Content) error) error, error) {
	switch {
	case !f.dryRun:
		return store.Change, p.prepare()
	case p.unmade():
		fmt.Fprintf(std.err, "note: the directory of the manifests %s does not exist yet: apply makes it\n", p.manifests)
		return store.TryMissing, nil
	}
	return store.Try, nil
}

// outcome is what became of a manifest.
type outcome string

// The outcomes, as kubectl calls them.
const (
	outcomeCreated    outcome = "created"
	outcomeConfigured outcome = "configured"
	outcomeUnchanged  outcome = "unchanged"
)

// applied is one object that was put in.
type applied struct {
	object  *spec.Object
	former  *spec.Object // what the directory held; nil where that was nothing valid
	outcome outcome
	file    string
}

// putAll puts what was given into the directory.
func putAll(c *store.Content, g *given) (done []applied, err error) {
	for i := range g.files {
		f := &g.files[i]
		whole, err := putWhole(c, f)
		if err != nil {
			return nil, err
		}
		if whole != nil {
			done = append(done, whole...)
			continue
		}
		for i := range f.docs {
			if f.docs[i].Object == nil {
				continue // of another group: noted
			}
			a, err := putOne(c, &f.docs[i])
			if err != nil {
				return nil, err
			}
			done = append(done, a)
		}
	}
	return done, nil
}

// putWhole puts a file in as it is, where all of it is new and its name is free;
// else it gives nothing.
func putWhole(c *store.Content, f *givenFile) (done []applied, err error) {
	if f.name == "" {
		return nil, nil
	}
	for i := range f.docs {
		d := &f.docs[i]
		if d.Object == nil || c.Has(d.Key) {
			return nil, nil
		}
		if err := c.Unclear(d.Key); err != nil {
			return nil, err
		}
	}
	to := c.PutFile(f.name, f.data)
	if to == nil {
		return nil, nil
	}
	for _, d := range f.docs {
		done = append(done, applied{object: d.Object, outcome: outcomeCreated, file: to.Path})
	}
	return done, nil
}

// putOne puts one document in.
func putOne(c *store.Content, d *edit.Document) (applied, error) {
	a := applied{object: d.Object, outcome: outcomeCreated}
	_, former, err := c.Where(d.Key)
	switch {
	case err != nil:
		return a, fmt.Errorf("cannot apply %s: %w", shortName(d.Key), err)
	case former != nil:
		a.former, a.outcome = former.Object, outcomeConfigured
	default:
		if err := c.Unclear(d.Key); err != nil {
			return a, err
		}
	}
	f, changed, err := c.Put(d)
	if err != nil {
		return a, err
	}
	if a.file = f.Path; !changed {
		a.outcome = outcomeUnchanged
	}
	return a, nil
}

// tell says what became of an object, and what happens to the workload: in
// comparison with the manifest that it is running by, if that is known, else with
// the one that was in the directory.
func (a *applied) tell(w io.Writer, running *api.Object, dryRun bool) error {
	text := fmt.Sprintf("%s %s", shortName(a.object.Key()), a.outcome)
	if dryRun {
		text += " (dry run)"
	}
	var lines []string
	switch a.outcome {
	case outcomeCreated:
		lines = []string{"file: " + filepath.Clean(a.file)}
	case outcomeConfigured:
		lines = a.effects(running)
	}
	for _, l := range lines {
		text += "\n    " + oneLine(l)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

func (a *applied) effects(running *api.Object) []string {
	former := a.former
	if running != nil && running.Spec != nil {
		former = manifestOf(running)
	}
	if former == nil {
		return []string{"mended: the former manifest had mistakes"}
	}
	return effectsOf(spec.Diff(former, a.object)).lines()
}

// byKey gives workloads by their keys. Whoever asks for many of them asks this: to
// look through all for each takes minutes for thousands.
func byKey(all []api.Object) map[spec.Key]*api.Object {
	m := make(map[spec.Key]*api.Object, len(all))
	for i := range all {
		m[all[i].Key()] = &all[i]
	}
	return m
}

// manifestOf is the manifest that a workload runs by.
func manifestOf(o *api.Object) *spec.Object {
	return &spec.Object{APIVersion: o.APIVersion, Kind: o.Kind, Metadata: o.Metadata, Spec: *o.Spec}
}

// readyAim waits for what was applied.
func readyAim(done []applied) settling {
	s := settling{aim: "ready"}
	wanted := map[spec.Key]*spec.Object{}
	for _, a := range done {
		s.keys = append(s.keys, a.object.Key())
		wanted[a.object.Key()] = a.object
	}
	s.judge = func(k spec.Key, o *api.Object) waitState { return appliedState(wanted[k], o) }
	return s
}

// appliedState says whether a controller has read a manifest, and all that runs is
// of it, and ready.
func appliedState(want *spec.Object, o *api.Object) waitState {
	switch {
	case o == nil:
		return waitState{why: "the controller has not read it yet"}
	case o.Spec == nil || len(spec.Diff(manifestOf(o), want)) > 0:
		return waitState{why: messageOf(o, spec.CondAccepted, "the controller has not read it yet")}
	case atRest(o):
		return restState(o)
	case slices.ContainsFunc(o.Status.Instances, func(in spec.InstanceStatus) bool { return in.Hash != o.Status.Hash || in.Outdated }):
		return waitState{why: messageOf(o, spec.CondReady, "an instance of the former manifest still runs")}
	}
	st := aim{condition: spec.CondReady, status: spec.True}.judge(o)
	// A manifest that is invalid is not this one: it has yet to be read.
	st.hopeless = st.hopeless && !isFalse(o, spec.CondAccepted)
	return st
}
