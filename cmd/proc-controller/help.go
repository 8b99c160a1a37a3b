package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// writeHelp lays out the help of a command. It is plain code, because a
// template would cost each start its parsing.
func writeHelp(w io.Writer, cmd *cobra.Command) {
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", text, useLine(cmd))
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprint(w, "\nCommands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(w, "  %-12s%s\n", c.Name(), c.Short)
			}
		}
	}
	writeFlags(w, "Flags", cmd.LocalNonPersistentFlags())
	shared := cmd.InheritedFlags()
	if !cmd.HasParent() {
		shared = cmd.PersistentFlags()
	}
	writeFlags(w, "Flags of every command", shared)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nMore: %s COMMAND --help\n", cmd.CommandPath())
	}
}

// useLine is the line after "Usage:".
func useLine(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return cmd.CommandPath() + " COMMAND [flags]"
	}
	return cmd.UseLine()
}

func writeFlags(w io.Writer, title string, flags *pflag.FlagSet) {
	if flags.HasAvailableFlags() {
		fmt.Fprintf(w, "\n%s:\n%s", title, flags.FlagUsages())
	}
}

// flagError says which flag was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return misused(cmd, "%s", err)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return misused(cmd, "%s%s", err, didYouMean("--"+strings.TrimLeft(unknown.GetSpecifiedName(), "-"), names))
}

// oneOf checks the value of a flag that takes a word of a list. An empty value
// passes: the flag was not given.
func oneOf(cmd *cobra.Command, flag, value string, words ...string) error {
	if value == "" && !cmd.Flags().Changed(flag) {
		return nil
	}
	for _, w := range words {
		if value == w {
			return nil
		}
	}
	return misused(cmd, "bad value %q of --%s: use %s%s", value, flag, alternatives(words), didYouMean(value, words))
}

// alternatives gives "a, b or c".
func alternatives(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
