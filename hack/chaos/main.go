//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	if path := os.Getenv(bystanderVariable); path != "" {
		bystander(path)
	}
	o := options{out: os.Stdout}
	flag.DurationVar(&o.duration, "duration", time.Minute, "for how long; a round that has begun is finished")
	flag.IntVar(&o.rounds, "rounds", 0, "end after so many rounds; 0: when the time is over")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()%1e9), "of the stream of operations")
	flag.StringVar(&o.program, "bin", "", "controller to torment; empty builds this checkout's")
	flag.StringVar(&o.scopes, "scopes", scopesOff, "off, or systemd: each workload in a scope of a user manager of its own (needs root)")
	flag.BoolVar(&o.verbose, "v", false, "show every operation")
	flag.Parse()
	if flag.NArg() > 0 || o.scopes != scopesOff && o.scopes != scopesSystemd {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(torment(ctx, o))
}

// torment makes one run and gives the exit code: 0 if all was well, 1 for a
// fault, 2 where it could not be carried out.
func torment(ctx context.Context, o options) int {
	if o.program == "" {
		dir, err := os.MkdirTemp("", "chaos-bin")
		if err != nil {
			fmt.Fprintln(os.Stderr, "chaos:", err)
			return 2
		}
		defer os.RemoveAll(dir)
		if o.program, err = build(ctx, dir); err != nil {
			fmt.Fprintln(os.Stderr, "chaos:", err)
			return 2
		}
	}
	c := &chaos{options: o}
	err := c.run(ctx)
	fmt.Fprintln(o.out, c.summary())
	switch {
	case c.tally.faults > 0:
		return 1
	case err != nil:
		fmt.Fprintf(os.Stderr, "chaos: %v\n", err)
		return 2
	}
	return 0
}

// build compiles the controller into a directory.
func build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "proc-controller")
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", path,
		"github.com/proc-controller/proc-controller/cmd/proc-controller")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the controller: %w\n%s", err, out)
	}
	return path, nil
}
