package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// shells are those that completion is written for.
var shells = []string{"bash", "zsh", "fish"}

// newCompletion is the verb that teaches a shell to complete verbs, flags, kinds
// and names.
func newCompletion(std streams, _ *placeFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "completion {bash | zsh | fish}",
		Short: "Write the completion for a shell",
		Long: `Write what a shell needs to complete verbs, flags, kinds, and the names of the
workloads that a running controller has.`,
		Example: `  source <(proc-controller completion bash)       # this shell, or in ~/.bashrc
  proc-controller completion zsh > "${fpath[1]}/_proc-controller"
  proc-controller completion fish > ~/.config/fish/completions/proc-controller.fish`,
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misused(cmd, "say for which shell: %s", alternatives(shells))
			}
			var err error
			switch root := cmd.Root(); args[0] {
			case "bash":
				err = root.GenBashCompletionV2(std.out, true)
			case "zsh":
				err = root.GenZshCompletion(std.out)
			case "fish":
				err = root.GenFishCompletion(std.out, true)
			default:
				return misused(cmd, "no completion for %q: use %s%s", args[0], alternatives(shells), didYouMean(args[0], shells))
			}
			if err != nil {
				return fmt.Errorf("cannot write: %w", err)
			}
			return nil
		},
	}
}
