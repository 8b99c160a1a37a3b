package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

// completeWait is how long a shell that completes a word may be kept waiting.
const completeWait = time.Second

// completeWorkloads offers the kinds, and the workloads of the controller if it
// runs.
func completeWorkloads(at *placeFlags) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		words := []cobra.Completion{"agents", "mcpservers"}
		ctx, cancel := context.WithTimeout(context.Background(), completeWait)
		defer cancel()
		if client, _, err := at.client(); err == nil {
			objects, _ := client.Workloads(ctx) // none runs: the kinds are enough
			for i := range objects {
				words = append(words, shortName(objects[i].Key()))
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
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
