//go:build linux

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"time"
)

// caller samples the time from the execution of a command to its end. Its output goes
// to the null device.
func (b *bench) caller(args ...string) sampler {
	return func(int) (float64, error) {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = environment()
		began := time.Now()
		if err := cmd.Run(); err != nil {
			return 0, fmt.Errorf("%s: %v", args[0], err)
		}
		return milliseconds(time.Since(began)), nil
	}
}

// getRows measures the client among many workloads at rest, and a verb that asks
// nobody, both beside a program that does nothing.
func (b *bench) getRows() ([]Row, error) {
	const count = 1000
	o := &ours{}
	w, end, err := b.run(o, count)
	if err != nil {
		return nil, err
	}
	defer end()
	nothing, err := exec.LookPath("true")
	if err != nil {
		return nil, fmt.Errorf("nothing to compare with: %v", err)
	}
	taken, err := b.alternate(b.samples, b.caller(nothing), b.caller(b.controller, "version"),
		b.caller(b.controller, "get", "--manifests", o.manifests(), "--socket", filepath.Join(w.dir, "run", "api.sock")))
	if err != nil {
		return nil, err
	}
	return []Row{
		{Figure: "version", Unit: "ms", Ours: taken[1], Floor: taken[0]},
		{Figure: "get/1000", Unit: "ms", Ours: taken[2], Floor: taken[0], Limit: limitGet},
	}, nil
}
