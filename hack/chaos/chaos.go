//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// options are what a run is asked for.
type options struct {
	duration time.Duration
	rounds   int // 0: as many as there is time for
	seed     uint64
	program  string // the controller's binary
	scopes   string // off or systemd
	verbose  bool
	out      io.Writer
}

// chaos is one run.
type chaos struct {
	options
	place
	*observer
	plan      *planner
	expect    expecter
	before    memory
	strangers []*stranger
	control   *control
	manager   *userManager // nil without scopes
	guards    int          // beside each controller; -1 before the first quiet point
	// unguarded: the controller died and no guard was there to clear up.
	unguarded bool

	widths map[int]int // fewest descriptors of this controller, by count of mains
	recent []string    // the last operations
	tally  tally
}

// place is where the files of a run are.
type place struct {
	dir, manifests, state, binary, owner, tag string
}

// tally counts what was done, for the summary.
type tally struct {
	rounds, ops, hits, crashes, guards, restarts, upgrades, faults int
	// beyond counts what a crash without a guard has left that nobody can find
	// or tell: see endBeyondReach.
	beyond int
}

func (c *chaos) summary() string {
	t := c.tally
	return fmt.Sprintf("chaos: seed %d, scopes %s: %d rounds, %d operations, %d kills of children, %d of the controller, %d of its guard, "+
		"%d graceful restarts, %d upgrades, %d strangers, %d beyond reach; %d faults found",
		c.seed, c.scopes, t.rounds, t.ops, t.hits, t.crashes, t.guards, t.restarts, t.upgrades, len(c.strangers), t.beyond, t.faults)
}

// run is a whole run. It gives an error where it could not be carried out, and
// counts what is wrong with the product in the tally.
func (c *chaos) run(ctx context.Context) error {
	// What a crashed controller leaves comes to us, and can be reaped: PID 1 of a
	// container may never do so.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot become a subreaper: %w", err)
	}
	defer c.clear()
	if err := c.prepare(ctx); err != nil {
		return err
	}
	until := time.Now().Add(c.duration)
	for r := c.plan.first(); ; r = c.plan.next() {
		if err := c.round(ctx, r); err != nil || c.tally.faults > 0 {
			return err
		}
		if time.Now().After(until) || c.rounds > 0 && c.tally.rounds >= c.rounds || ctx.Err() != nil {
			break
		}
	}
	return c.finish(ctx)
}

// round carries out the operations of one round and judges the quiet point.
func (c *chaos) round(ctx context.Context, r round) error {
	for _, o := range r.ops {
		c.trace(fmt.Sprintf("%d: %v", r.number, o))
		ended, err := c.do(ctx, o)
		if err != nil {
			return fmt.Errorf("cannot %v: %w; the last lines of the controller:\n%s", o, err, c.control.tail(20))
		}
		c.expect.note(o, ended)
		c.tally.ops++
		pause(ctx, o.pause)
	}
	c.tally.rounds++
	if ctx.Err() != nil {
		return nil
	}
	c.quiet(ctx, r.number, c.expect.settle(r))
	return nil
}

// trace notes an operation for the report of a fault.
func (c *chaos) trace(line string) {
	if c.verbose {
		fmt.Fprintln(c.out, line)
	}
	if c.recent = append(c.recent, line); len(c.recent) > 40 {
		c.recent = c.recent[1:]
	}
}

// fault reports what is wrong, with all that is needed to see it again.
func (c *chaos) fault(when string, wrong []string) {
	c.tally.faults += len(wrong)
	fmt.Fprintf(c.out, "FAULT %s, seed %d\n  %s\n", when, c.seed, strings.Join(wrong, "\n  "))
	fmt.Fprintf(c.out, "the last operations:\n  %s\n", strings.Join(c.recent, "\n  "))
	fmt.Fprintln(c.out, "what runs:")
	for _, p := range c.children() {
		fmt.Fprintf(c.out, "  %v, parent %d, session %d\n", p, p.ppid, p.sid)
	}
	fmt.Fprintf(c.out, "the last lines of the controller:\n%s\n", c.control.tail(40))
	fmt.Fprintf(c.out, "again: go run ./hack/chaos -scopes %s -seed %d -rounds %d\n", c.scopes, c.seed, c.tally.rounds)
}

// pause waits, or less if the run is to end.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// prepare makes directories and calls in the bystanders.
func (c *chaos) prepare(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "chaos")
	if err != nil {
		return err
	}
	run := fmt.Sprintf("%d%06d", os.Getpid(), time.Now().UnixMicro()%1e6)
	c.place = place{
		dir: dir, manifests: filepath.Join(dir, "m"), state: filepath.Join(dir, "s"),
		binary: filepath.Join(dir, "proc-controller"), owner: "chaos-" + run, tag: "7" + run,
	}
	c.observer, c.plan = newObserver(c.tag), newPlanner(c.seed)
	c.guards = -1
	c.before.hashes, c.widths = map[[2]int]string{}, map[int]int{}
	c.control = &control{place: c.place, observer: c.observer, scopes: c.scopes}
	strangers := filepath.Join(dir, "strangers")
	for _, d := range []string{dir, filepath.Join(dir, "r"), strangers} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, copies := range [][2]string{{c.program, c.binary}, {self, filepath.Join(dir, "bystander")}} {
		if err := copyFile(copies[1], copies[0]); err != nil {
			return err
		}
	}
	if c.scopes == scopesSystemd {
		if c.manager, err = startManager(ctx, dir); err != nil {
			return err
		}
		c.control.env = []string{"XDG_RUNTIME_DIR=" + c.manager.dir}
	}
	// Bystanders of another user write and execute here.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(strangers, 0o777); err != nil {
		return err
	}
	c.strangers, err = callIn(ctx, strangers, filepath.Join(dir, "bystander"), c.owner)
	return err
}

func copyFile(to, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o755)
}
