package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/spec/reference"
)

// newSchema is the verb that prints the JSON Schema of manifests.
func newSchema(std streams, _ *placeFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of manifests, for editors",
		Long: `Print the JSON Schema (draft 2020-12) of the objects in manifests, with what each
field is for. It is that of this very version of the program.

An editor with the YAML language server completes and checks a manifest that
begins with the line

  # yaml-language-server: $schema=PATH

It finds less than "validate", which knows what one field means for another, what
one object needs of another, and what YAML makes of words without quotes.`,
		Example: `  proc-controller schema > proc-controller.json
  proc-controller schema | jq '."$defs".Spec.properties | keys'`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if _, err := std.out.Write(reference.Schema()); err != nil {
				return fmt.Errorf("cannot write: %w", err)
			}
			return nil
		},
	}
}
