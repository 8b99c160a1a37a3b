package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/store"
)

// suspendFlags say what is suspended or resumed, and how.
type suspendFlags struct {
	suspend bool
	choose  chooseFlags
	runtime bool
	wait    waitFlag
}

// suspendLong says what suspend and resume have in common.
const suspendLong = `

By default this is written into the manifest, as spec.suspend. With --runtime only
the running controller is told: it remembers that, also when it is started anew,
until the workload is resumed or its manifest is removed. That is the default where
the directory of the manifests lies in a git work tree, whose files are changed by
commits, or cannot be written into; --runtime=false writes the manifest all the same.`

// newSuspend is the verb that stops workloads and keeps them stopped.
func newSuspend(std streams, at *placeFlags) *cobra.Command {
	f := suspendFlags{suspend: true}
	cmd := &cobra.Command{
		Use:   "suspend {KIND[/NAME]... | --all | -l SELECTOR}",
		Short: "Stop workloads, and keep them stopped",
		Long:  "Stop workloads, and keep them stopped until they are resumed." + suspendLong,
		Example: `  proc-controller suspend mcp/files
  proc-controller suspend -l team=dev --runtime
  proc-controller suspend --all --no-wait`,
	}
	f.complete(cmd, std, at, "suspend", "wait until nothing of them runs")
	return cmd
}

// newResume is the verb that undoes suspend.
func newResume(std streams, at *placeFlags) *cobra.Command {
	f := suspendFlags{}
	cmd := &cobra.Command{
		Use:   "resume {KIND[/NAME]... | --all | -l SELECTOR}",
		Short: "Let suspended workloads run again",
		Long: `Let suspended workloads run again: whatever suspends them is undone, their
manifest or what the running controller was told, and it says which.` + suspendLong,
		Example: `  proc-controller resume mcp/files
  proc-controller resume --all`,
	}
	f.complete(cmd, std, at, "resume", "wait until they are ready")
	return cmd
}

// complete adds what both verbs have in common.
func (f *suspendFlags) complete(cmd *cobra.Command, std streams, at *placeFlags, verb, until string) {
	cmd.ValidArgsFunction = completeWorkloads(at)
	f.choose.add(cmd, verb)
	cmd.Flags().BoolVar(&f.runtime, "runtime", false, "tell only the running controller (default where the manifests are in a git work tree or cannot be written)")
	f.wait.add(cmd.Flags(), true, until)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		chosen, err := f.choose.parse(cmd, args)
		if err != nil {
			return err
		}
		client, p, err := at.client()
		if err != nil {
			return err
		}
		s := switching{std: std, client: client, place: p, choice: chosen, suspend: f.suspend, runtime: f.runtime, decided: cmd.Flags().Changed("runtime")}
		keys, err := s.run(cmd.Context())
		if err != nil {
			return err
		}
		if s.lost != nil {
			return f.wait.without(std, p, s.lost)
		}
		return f.wait.until(cmd.Context(), std, client, p, s.settling(keys))
	}
}

// switching suspends or resumes workloads.
type switching struct {
	std     streams
	client  *api.Client
	place   place
	choice  choice
	suspend bool
	// runtime says that only the controller is told, decided that somebody has
	// said so; else why says what speaks for it.
	runtime, decided bool
	why              string
	// running is what the controller says, and lost why it does not.
	running []api.Object
	lost    error
}

// run does it, and gives those that it is done for.
func (s *switching) run(ctx context.Context) ([]spec.Key, error) {
	if !s.decided {
		s.why = leaveAlone(s.place.manifests)
		s.runtime = s.why != ""
	}
	if s.running, s.lost = s.client.Workloads(ctx); s.lost != nil && s.runtime {
		return nil, s.place.explain(s.lost)
	}
	var err error
	var lines []string
	var keys []spec.Key
	switch {
	case s.suspend && s.runtime:
		keys, lines, err = s.atRuntime(ctx)
	case s.suspend:
		keys, lines, err = s.inManifests(ctx)
	default:
		keys, lines, err = s.resume(ctx)
	}
	for _, l := range lines {
		fmt.Fprintln(s.std.out, l)
	}
	if err == nil && s.suspend && s.why != "" && len(keys) > 0 {
		fmt.Fprintf(s.std.err, "note: at runtime only, and not in the manifest, since %s; --runtime=false writes it\n", s.why)
	}
	return keys, err
}

// leaveAlone says why manifests should not be written by a verb; empty where they
// may be.
func leaveAlone(dir string) string {
	if top := store.WorkTree(dir); top != "" {
		return dir + " lies in the git work tree " + top
	}
	if err := store.Writable(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return dir + " cannot be written into: " + err.Error()
	}
	return ""
}

// pick gives those of the objects that are meant.
func (s *switching) pick(all []api.Object, where string) ([]api.Object, error) {
	found, missing := s.choice.pick(all)
	for _, m := range missing {
		s.std.say(fmt.Errorf("%w%s", m, where))
	}
	switch {
	case len(missing) > 0:
		return nil, errSaid
	case len(found) == 0:
		return nil, errors.New("no workload matches")
	}
	return found, nil
}

// atRuntime suspends by telling the controller.
func (s *switching) atRuntime(ctx context.Context) (keys []spec.Key, lines []string, err error) {
	found, err := s.pick(s.running, "")
	if err != nil {
		return nil, nil, err
	}
	for i := range found {
		o := &found[i]
		text := shortName(o.Key()) + " suspended at runtime"
		switch {
		case !o.Status.SuspendedAt.IsZero():
			text = shortName(o.Key()) + " unchanged: suspended at runtime already"
		case o.Spec != nil && o.Spec.Suspend:
			text = shortName(o.Key()) + " unchanged: suspended by its manifest already"
		default:
			if err := s.client.SetSuspended(ctx, o.Key(), true); err != nil {
				return keys, lines, fmt.Errorf("cannot suspend %s: %w", shortName(o.Key()), err)
			}
		}
		keys, lines = append(keys, o.Key()), append(lines, text)
	}
	return keys, lines, nil
}

// suspendField is the field that suspends a workload by its manifest.
var suspendField = []string{"spec", "suspend"}

// inManifests suspends by writing into the manifests.
func (s *switching) inManifests(ctx context.Context) (keys []spec.Key, lines []string, err error) {
	err = store.Change(ctx, s.place.manifests, func(c *store.Content) error {
		found, err := s.pick(manifests(c), " in "+c.Dir)
		if err != nil {
			return err
		}
		keys = keysOf(found)
		for _, k := range keys {
			f, changed, err := c.Set(k, suspendField, true)
			if err != nil {
				return err
			}
			text := "suspended in " + oneLine(f.Path)
			if !changed {
				text = "unchanged: suspended already, in " + oneLine(f.Path)
			}
			lines = append(lines, shortName(k)+" "+text)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return keys, lines, nil
}

// manifests are the objects of a directory, in the form of the API.
func manifests(c *store.Content) (all []api.Object) {
	for _, f := range c.Files {
		for _, d := range f.Docs() {
			switch {
			case d.Object != nil:
				all = append(all, api.Object{APIVersion: d.Object.APIVersion, Kind: d.Object.Kind, Metadata: d.Object.Metadata, Spec: &d.Object.Spec})
			case d.Key != (spec.Key{}):
				all = append(all, api.Object{Kind: d.Key.Kind, Metadata: spec.Metadata{Name: d.Key.Name}})
			}
		}
	}
	return all
}

// settling waits until nothing runs, or until all is ready.
func (s *switching) settling(keys []spec.Key) settling {
	if s.suspend {
		return settling{keys: keys, aim: "suspended", judge: suspendedState}
	}
	return settling{keys: keys, aim: "ready", judge: resumedState}
}

// suspendedState says whether a workload is suspended and nothing of it runs.
func suspendedState(_ spec.Key, o *api.Object) waitState {
	switch {
	case o == nil:
		return waitState{why: "the controller has not read its manifest yet"}
	case o.Status.SuspendedAt.IsZero() && (o.Spec == nil || !o.Spec.Suspend):
		return waitState{why: messageOf(o, spec.CondAccepted, "the controller has not read its manifest yet")}
	}
	st := restState(o)
	st.as = ""
	return st
}

// resumedState says whether a workload runs again, and is ready.
func resumedState(_ spec.Key, o *api.Object) waitState {
	switch {
	case o == nil:
		return waitState{why: "the controller has not read its manifest yet"}
	case o.Spec != nil && !o.Spec.Suspend && o.Status.SuspendedAt.IsZero() && atRest(o):
		return restState(o)
	case atRest(o):
		return waitState{why: messageOf(o, spec.CondAccepted, "it is still suspended")}
	}
	return aim{condition: spec.CondReady, status: spec.True}.judge(o)
}
