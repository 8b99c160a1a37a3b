package main

import (
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// chooseFlags say for which workloads a verb is.
type chooseFlags struct {
	all      bool
	selector string
}

func (f *chooseFlags) add(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&f.all, "all", false, what+" all workloads")
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", what+" those whose labels match `SELECTOR`: team=dev,tier!=test")
}

// choice is which workloads are meant.
type choice struct {
	want   selectors
	labels labels.Selector // nil: by name
}

// parse reads flags and arguments.
func (f *chooseFlags) parse(cmd *cobra.Command, args []string) (c choice, err error) {
	if c.want, err = parseSelectors(cmd, args); err != nil {
		return c, err
	}
	switch {
	case f.all && f.selector != "", (f.all || f.selector != "") && len(args) > 0:
		return c, misused(cmd, "names, --all and -l exclude one another")
	case !f.all && f.selector == "" && len(args) == 0:
		return c, misused(cmd, "say for which workloads: KIND/NAME, --all or -l SELECTOR")
	}
	if f.selector != "" {
		if c.labels, err = labels.Parse(f.selector); err != nil {
			return c, misused(cmd, "cannot read the selector %q: %v", f.selector, err)
		}
	}
	return c, nil
}

// pick gives those that are meant, each once, and an error for each name that is
// not there.
func (c *choice) pick(all []api.Object) (found []api.Object, missing []error) {
	found, missing = c.want.pick(all)
	if c.labels != nil {
		found = slices.DeleteFunc(slices.Clone(found), func(o api.Object) bool { return !c.labels.Matches(labels.Set(o.Metadata.Labels)) })
	}
	slices.SortFunc(found, func(a, b api.Object) int { return a.Key().Compare(b.Key()) })
	return slices.CompactFunc(found, func(a, b api.Object) bool { return a.Key() == b.Key() }), missing
}

// keysOf are the keys of objects.
func keysOf(objects []api.Object) (keys []spec.Key) {
	for i := range objects {
		keys = append(keys, objects[i].Key())
	}
	return keys
}
