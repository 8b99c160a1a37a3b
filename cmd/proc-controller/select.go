package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// selectors are what the arguments of get ask for. None asks for everything.
type selectors []spec.Key // without a name: all of the kind

// parseSelectors reads KIND and KIND/NAME.
func parseSelectors(cmd *cobra.Command, args []string) (selectors, error) {
	var want selectors
	for _, arg := range args {
		word, name, named := strings.Cut(arg, "/")
		kind, err := spec.ParseKind(word)
		if err != nil {
			return nil, misused(cmd, "%v; for one workload write KIND/NAME", err)
		}
		if named && name == "" {
			return nil, misused(cmd, "no name after the slash in %q", arg)
		}
		want = append(want, spec.Key{Kind: kind, Name: name})
	}
	return want, nil
}

// single says that exactly one workload was asked for by name.
func (want selectors) single() bool { return len(want) == 1 && want[0].Name != "" }

// pick gives what was asked for, in the order of all, and an error for each
// name that is not there.
func (want selectors) pick(all []api.Object) (found []api.Object, missing []error) {
	if len(want) == 0 {
		return all, nil
	}
	for i := range all {
		if want.takes(all[i].Key()) {
			found = append(found, all[i])
		}
	}
	return found, want.missing(keysOf(all))
}

// missing gives an error for each name that is not among all.
func (want selectors) missing(all []spec.Key) (missing []error) {
	for _, k := range want {
		if k.Name != "" && !slices.Contains(all, k) {
			missing = append(missing, noSuch(k, all))
		}
	}
	return missing
}

// takes says whether a workload is one of those asked for.
func (want selectors) takes(key spec.Key) bool {
	return len(want) == 0 || slices.ContainsFunc(want, func(k spec.Key) bool { return matches(k, key) })
}

func matches(want, key spec.Key) bool {
	return want.Kind == key.Kind && (want.Name == "" || want.Name == key.Name)
}

func notFound(k spec.Key, all []api.Object) error { return noSuch(k, keysOf(all)) }

// noSuch names the workload of the same name and another kind, or one of the same
// kind and a name that is near. It may be among all by now: then it has come since it
// was asked for.
func noSuch(k spec.Key, all []spec.Key) error {
	var names []string
	suggestion := ""
	for _, o := range all {
		switch {
		case o == k:
		case o.Kind == k.Kind:
			names = append(names, o.Name)
		case o.Name == k.Name:
			suggestion = " (did you mean " + shortName(o) + "?)"
		}
	}
	if suggestion == "" {
		suggestion = didYouMean(k.Name, names)
	}
	return fmt.Errorf("no %s named %s%s", k.Kind, k.Name, suggestion)
}

// shortName is the form to type, and what -o name shows: mcpserver/files.
func shortName(k spec.Key) string { return strings.ToLower(string(k.Kind)) + "/" + k.Name }
