package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/spec"
)

// completeWait is how long a shell that completes a word may be kept waiting.
const completeWait = time.Second

// completeWorkloads offers the kinds, and the workloads of the controller if it
// runs, but for those that are named already. A kind that was written in another
// way, as in mcp/, stays so.
func completeWorkloads(at *placeFlags) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		words := []cobra.Completion{"agents", "mcpservers"}
		ctx, cancel := context.WithTimeout(context.Background(), completeWait)
		defer cancel()
		if client, _, err := at.client(); err == nil {
			objects, _ := client.BriefWorkloads(ctx, "") // none runs: the kinds are enough
			for i := range objects {
				if k := objects[i].Key(); !isNamed(args, k) {
					words = append(words, typedAs(typed, k))
				}
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// isNamed says that a workload stands on the command line already.
func isNamed(args []string, k spec.Key) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		given, err := spec.ParseKey(arg)
		return err == nil && given == k
	})
}

// typedAs is the name of a workload that begins as what was typed, if it can.
func typedAs(typed string, k spec.Key) string {
	word, _, named := strings.Cut(typed, "/")
	if kind, err := spec.ParseKind(word); named && err == nil && kind == k.Kind {
		return word + "/" + k.Name
	}
	return shortName(k)
}

// completeWords offers the words that a flag takes.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// completeOutputs offers the forms of -o, those with an expression up to it.
func completeOutputs(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("output", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		words := []cobra.Completion{formWide, formJSON, formYAML, formName, formPath + "=", formColumns + "="}
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}
