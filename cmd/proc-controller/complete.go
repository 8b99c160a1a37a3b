package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/proc-controller/proc-controller/controller/api"
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
			names, _ := client.Table(ctx, api.TableNames, "") // none runs: the kinds are enough
			for _, k := range names.Keys() {
				if !isNamed(args, k) {
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

// completes says that a shell asks what could follow.
func completes(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// completeFlags keeps a shell from offering files for the flags that take none, and
// has it offer directories alone for those that take one. What a flag takes is said
// by the name of its value in the help.
func completeFlags(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, own := cmd.GetFlagCompletionFunc(f.Name); own {
			return
		}
		files := cobra.NoFileCompletions
		switch value, _ := pflag.UnquoteUsage(f); value {
		case "DIR":
			files = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
		case "PATH", "FILE", "FILE|DIR":
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, files)
	})
	for _, verb := range cmd.Commands() {
		completeFlags(verb)
	}
}

// completeOutputs offers the forms of -o, those with an expression up to it.
func completeOutputs(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("output", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		words := []cobra.Completion{formWide, formJSON, formYAML, formName, formPath + "=", formColumns + "="}
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}
