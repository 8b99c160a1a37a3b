package main

import (
	"io"

	"github.com/spf13/cobra"
)

// program is how the program calls itself.
const program = "proc-controller"

// streams are the standard streams of one run.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// execute runs one command line and gives its exit code.
func execute(args []string, std streams) int {
	if isGuard(args) {
		err := guard(args, std)
		std.say(err)
		return exitCode(err)
	}
	if isBridge(args) {
		return bridgeServer(args, std)
	}
	if part := withPart(args); part != nil {
		err := part(std)
		std.say(err)
		return exitCode(err)
	}
	root := newRoot(std, args)
	root.SetArgs(args)
	err := root.Execute()
	std.say(err)
	return exitCode(err)
}

// newRoot puts the verbs together that args need. The flags that say which controller is meant
// are the same on all of them, so that a client finds its controller by them.
func newRoot(std streams, args []string) *cobra.Command {
	var at placeFlags
	root := &cobra.Command{
		Use:   program,
		Short: "Keeps AI agents and MCP servers running on this machine",
		Long: `proc-controller keeps AI agents and MCP servers running on this machine.

It watches a directory of YAML manifests. Drop a manifest in and its process
runs; edit it and the process is replaced; remove it and the process is gone,
together with everything that it has started.`,
		Example: `  proc-controller run                          # in the foreground, until Ctrl-C
  proc-controller run --manifests ./manifests  # another directory
  proc-controller get                          # what runs, in another terminal
  proc-controller validate ./manifests         # check manifests first`,
		Args:              func(cmd *cobra.Command, args []string) error { return unknownVerb(cmd, args) },
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}, // there is one of ours
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeHelp(std.out, cmd) })
	root.SetUsageFunc(func(cmd *cobra.Command) error { writeHelp(std.err, cmd); return nil })
	root.SetHelpCommand(newHelp())
	at.addTo(root.PersistentFlags())
	root.AddCommand(newVerbs(std, &at, args)...)
	if completes(args) {
		completeFlags(root)
	}
	return root
}

// verbs are the commands, each from a file of its own.
var verbs = []struct {
	name string
	make func(streams, *placeFlags) *cobra.Command
}{
	{"run", newRun},
	{"apply", newApply},
	{"delete", newDelete},
	{"diff", newDiff},
	{"suspend", newSuspend},
	{"resume", newResume},
	{"get", newGet},
	{"describe", newDescribe},
	{"top", newTop},
	{"wait", newWait},
	{"restart", newRestart},
	{"down", newDown},
	{"ps", newPs},
	{"explain", newExplain},
	{"events", newEvents},
	{"logs", newLogs},
	{"reap", newReap},
	{"validate", newValidate},
	{"upgrade", newUpgrade},
	{"schema", newSchema},
	{"with", newWith},
	{"import", newImport},
	{"export", newExport},
	{"install", newInstall},
	{"uninstall", newUninstall},
	{"mcp", newMCP},
	{"connect", newConnect},
	{"version", newVersion},
	{"completion", newCompletion},
}

// newVerbs makes the commands that a command line can need: where it begins with one,
// no other. To make them all takes longer than many of them do.
func newVerbs(std streams, at *placeFlags, args []string) (made []*cobra.Command) {
	for _, v := range verbs {
		if len(args) > 0 && v.name == args[0] {
			return []*cobra.Command{v.make(std, at)}
		}
	}
	for _, v := range verbs {
		made = append(made, v.make(std, at))
	}
	return made
}

// unknownVerb refuses what is no verb, and says which one is near.
func unknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var verbs []string
	for _, c := range cmd.Commands() {
		verbs = append(verbs, c.Name())
	}
	return misused(cmd, "unknown command %q%s", args[0], didYouMean(args[0], verbs))
}

// newHelp is "help VERB". Cobra's own takes an unknown verb for a success.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:    "help [COMMAND]",
		Short:  "Show the help of a command",
		Hidden: true, // every --help says the same
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownVerb(cmd.Root(), args)
			}
			return found.Help()
		},
	}
}
