package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// newUpgrade is the verb that has a running controller replace itself.
func newUpgrade(std streams, at *placeFlags) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Replace a running controller by the program on the disk",
		Long: `Replace a running controller by the program that is on the disk now, under the
path by which the controller was started. Its pid, its flags and everything that
it runs stay as they are: no workload is restarted.

The new program is tried first. If it cannot take over, the controller goes on
as before, and this command says why. SIGUSR2 to the controller does the same;
the answer then stands in its log.`,
		Example: `  install proc-controller /usr/local/bin/ && proc-controller upgrade`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return misused(cmd, "the timeout must be more than nothing, and is %v", timeout)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return upgrade(ctx, std, at)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long the new program may take to be ready, as `TIME`: 30s, 2m")
	return cmd
}

func upgrade(ctx context.Context, std streams, at *placeFlags) error {
	client, p, err := at.client()
	if err != nil {
		return err
	}
	now, err := client.Upgrade(ctx)
	if err != nil {
		return p.explain(err)
	}
	_, err = fmt.Fprintf(std.out, "controller (pid %d) now runs %s\n", now.PID, now.Version)
	return err
}
