//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// bench holds what all figures share. One goroutine uses it.
type bench struct {
	ctx             context.Context
	samples, cycles int
	idle            time.Duration
	withPeers       bool

	root                                   string // of the module
	dir                                    string // private, removed at the end
	controller, payload, cscan, floorProgr string // programs
	worlds                                 int    // counts, for their names
}

// build makes the programs in a private directory. It also makes this process
// the reaper of what a killed supervisor leaves behind.
func (b *bench) build() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot become a subreaper: %v", err)
	}
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("cannot find the module: %v", err)
	}
	b.root = filepath.Dir(strings.TrimSpace(string(mod)))
	if b.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return err
	}
	b.payload = filepath.Join(b.dir, "payload")
	b.cscan = filepath.Join(b.dir, "scan")
	b.floorProgr = filepath.Join(b.dir, "floor")
	steps := [][]string{
		{"cc", "-O2", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector", "-o", b.payload, "hack/bench/payload/payload.c"},
		{"cc", "-O2", "-o", b.cscan, "hack/bench/cscan/scan.c"},
		{"go", "build", "-o", b.floorProgr, "./hack/bench/floor"},
	}
	if b.controller == "" {
		b.controller = filepath.Join(b.dir, "proc-controller")
		steps = append(steps, []string{"go", "build", "-o", b.controller, "./cmd/proc-controller"})
	} else if b.controller, err = filepath.Abs(b.controller); err != nil {
		return err
	}
	for _, step := range steps {
		cmd := exec.CommandContext(b.ctx, step[0], step[1:]...)
		cmd.Dir = b.root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot build: %s: %v\n%s", strings.Join(step, " "), err, out)
		}
	}
	return nil
}

// measure runs the figures that the pattern matches, in their order.
func (b *bench) measure(pattern *regexp.Regexp) ([]Row, error) {
	var rows []Row
	for _, f := range figures {
		if !pattern.MatchString(f.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", f.name)
		more, err := f.measure(b)
		if err != nil {
			return rows, fmt.Errorf("%s: %v", f.name, err)
		}
		rows = append(rows, more...)
	}
	return append(rows, flatness(rows)...), nil
}

// pause lets the cores go idle, as they are when a request comes in reality,
// for a time that keeps step with nobody's timer.
func (b *bench) pause() error {
	return b.sleep(100*time.Millisecond + rand.N(50*time.Millisecond))
}

func (b *bench) sleep(d time.Duration) error {
	select {
	case <-b.ctx.Done():
		return b.ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// monotonic is the clock that the payload reads.
func monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // cannot fail with this clock
	}
	return time.Duration(t.Nano())
}
