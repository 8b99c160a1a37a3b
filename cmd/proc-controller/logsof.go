package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/proc-controller/proc-controller/actuate/logs"
	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// foundLogs says whose lines are shown, and where they come from.
type foundLogs struct {
	keys  []spec.Key
	lines lineSource
}

// askWait is how long a controller is waited for that does not answer: the lines
// can be had without it.
const askWait = 3 * time.Second

// find finds the workloads: those that the controller knows, and those whose
// output is still there.
//
// The files are read directly, also where a controller runs. It is on the same
// machine and of the same user, so there is nothing that it could give which the
// files do not; and following then lives through its end and its replacement.
// What the API tells is for those who cannot reach the files.
func (f *logsFlags) find(ctx context.Context, std streams, at *placeFlags, want selectors, matching labels.Selector) (found foundLogs, err error) {
	client, p, err := at.client()
	if err != nil {
		return found, err
	}
	asking, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	objects, asked := client.Workloads(asking)
	if asked != nil && matching != nil {
		return found, p.explain(asked) // nothing else knows the labels
	}
	dir, err := p.logsDir(objects)
	if err != nil {
		return found, err
	}
	found.lines = func(ctx context.Context, key spec.Key, q logs.Query, give func(logs.Line) error) error {
		return logs.Read(ctx, dir, key, q, give)
	}
	if _, err := os.ReadDir(dir); err != nil && asked == nil {
		found.lines = remoteLines(client, f.timestamps)
	}
	if found.keys, err = pickKeys(std, want, matching, objects, logs.Known(dir)); err != nil {
		if asked != nil {
			std.say(err)
			return found, p.explain(asked) // it may know more
		}
		return found, err
	}
	f.tell(std, p, dir, found.keys, asked)
	return found, nil
}

// logsDir is where the output files are: where the controller says that they are,
// or where they would be by the flags.
func (p place) logsDir(objects []api.Object) (string, error) {
	for i := range objects {
		for _, in := range objects[i].Status.Instances {
			if in.Log != "" {
				return filepath.Dir(in.Log), nil
			}
		}
	}
	state, err := p.stateDir()
	return logs.Dir(state), err
}

// pickKeys gives those that are asked for, in the order in which they are asked
// for.
func pickKeys(std streams, want selectors, matching labels.Selector, objects []api.Object, kept []spec.Key) (keys []spec.Key, err error) {
	all := slices.Clone(objects)
	for _, k := range kept {
		if !slices.ContainsFunc(objects, func(o api.Object) bool { return o.Key() == k }) {
			all = append(all, api.Object{Kind: k.Kind, Metadata: spec.Metadata{Name: k.Name}})
		}
	}
	if matching != nil {
		for i := range objects {
			if matching.Matches(labels.Set(objects[i].Metadata.Labels)) {
				keys = append(keys, objects[i].Key())
			}
		}
	}
	for _, k := range want {
		some, missing := selectors{k}.pick(all)
		for _, m := range missing {
			std.say(m)
			err = errSaid
		}
		for i := range some {
			keys = append(keys, some[i].Key())
		}
	}
	switch {
	case err != nil:
		return nil, err
	case len(keys) == 0:
		return nil, errors.New("no workload matches")
	}
	return distinct(keys), nil
}

// distinct leaves out what is there already.
func distinct(keys []spec.Key) (some []spec.Key) {
	for _, k := range keys {
		if !slices.Contains(some, k) {
			some = append(some, k)
		}
	}
	return some
}

// tell notes, for a person, what the lines do not show.
func (f *logsFlags) tell(std streams, p place, dir string, keys []spec.Key, asked error) {
	switch {
	case errors.Is(asked, api.ErrNotRunning):
		fmt.Fprintf(std.err, "note: no controller runs for %s; these are the files in %s\n", p.manifests, dir)
	case asked != nil:
		fmt.Fprintf(std.err, "note: the controller does not answer (%s); these are the files in %s\n", oneLine(asked.Error()), dir)
	}
	if f.previous || f.allMembers {
		return
	}
	for _, k := range keys {
		if n := logs.Writing(dir, k); n > 1 {
			fmt.Fprintf(std.err, "note: %d instances of %s run; this is the newest, --all-members shows each\n", n, shortName(k))
		}
	}
}

// isNone says that there is no run of the kind that was asked for.
func isNone(err error) bool {
	var failed *api.Failure
	return errors.Is(err, logs.ErrNone) || errors.As(err, &failed) && failed.Code == http.StatusNotFound
}
