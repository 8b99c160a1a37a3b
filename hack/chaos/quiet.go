//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// calm is for how long all has to be right at a quiet point.
const calm = 400 * time.Millisecond

// quiet waits until all is right and stays so, and reports what is not.
func (c *chaos) quiet(ctx context.Context, number int, want [keys]expectation) {
	var wrong []string
	var since time.Time
	err := within(ctx, patience, func() error {
		c.reap()
		wrong = judge(want, c.scene(), &c.before)
		if len(wrong) > 0 {
			since = time.Time{}
			return errors.New("not right")
		}
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) < calm {
			return errors.New("not long enough")
		}
		return nil
	})
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		wrong = c.growth()
	} else if len(wrong) == 0 {
		wrong = []string{"it does not come to rest"}
	}
	if len(wrong) > 0 {
		c.fault(fmt.Sprintf("in round %d", number), wrong)
		return
	}
	if c.guards < 0 {
		c.guards = len(c.control.guards())
	}
	c.before.remember(c.children())
}

// scene is what there is to be judged now.
func (c *chaos) scene() scene {
	s := scene{
		children: c.children(), zombies: zombies(c.control.pid()), programs: running(c.binary),
		controller: c.control.pid(), guards: c.guards,
		scoped: c.manager != nil, scopes: c.manager.scopes(), upgrade: c.control.unfinished(),
	}
	for _, b := range c.strangers {
		if said := b.complaint(); said != "" {
			s.strangers = append(s.strangers, said)
		}
	}
	return s
}

// growth finds descriptors and threads that are not given back: with the same
// number of workloads a controller has the same number of them.
func (c *chaos) growth() (wrong []string) {
	mains := 0
	for _, p := range c.children() {
		if p.main {
			mains++
		}
	}
	dir := fmt.Sprintf("/proc/%d/", c.control.pid())
	fds, threads := entries(dir+"fd"), entries(dir+"task")
	if least, known := c.widths[mains]; !known || fds < least {
		c.widths[mains] = fds
	} else if fds > least+spareDescriptors {
		wrong = append(wrong, fmt.Sprintf("the controller has %d descriptors with %d workloads, and had %d before", fds, mains, least))
	}
	if threads > maxThreads {
		wrong = append(wrong, fmt.Sprintf("the controller has %d threads", threads))
	}
	return wrong
}

const (
	// spareDescriptors are in use for a moment: a scan, a watched directory.
	spareDescriptors = 8
	// maxThreads bounds those of the Go runtime, which keeps what it has once
	// needed for calls that block.
	maxThreads = 48
)

// launch starts a controller.
func (c *chaos) launch(ctx context.Context) error {
	if c.unguarded {
		c.endBeyondReach(ctx)
	}
	c.unguarded = false
	c.widths = map[int]int{}
	return c.control.launch(ctx)
}

// endBeyondReach ends what a crash without a guard has left and what nobody can
// find, or tell, who was not there before: what has a cleared environment; and
// what made itself a session leader at once, so that it looks like the main
// process, if the controller died before it had written down which one that is.
// What is in a scope can always be found, and where there was a guard nothing is
// beyond reach. A main process that dies of the crash is waited for: else it could
// do so right after this.
func (c *chaos) endBeyondReach(ctx context.Context) {
	_ = within(ctx, slack, func() (err error) {
		for _, p := range c.children() {
			if p.main || p.scope != "" || p.value("PROC_CONTROLLER_OWNER") != "" && !p.looksLikeMain() {
				continue
			}
			switch m, ok := lookup(p.mainPID); {
			case !ok || m.dead():
				c.tally.beyond++
				_ = syscall.Kill(p.pid, syscall.SIGKILL)
			case m.state != 'T' && !c.kept(p):
				err = fmt.Errorf("%v is dying", m)
			}
		}
		return err
	})
}

// looksLikeMain says that a process leads a session and is as old as its
// instance, whose name ends in the tick of the spawn.
func (c child) looksLikeMain() bool {
	_, tick, _ := strings.Cut(c.value("PROC_CONTROLLER_INSTANCE"), "-")
	spawn, err := strconv.ParseUint(tick, 10, 64)
	return err == nil && c.pid == c.sid && c.start <= spawn+2
}

// kept says that a process lives on when the controller ends.
func (c *chaos) kept(p child) bool {
	if v := p.value("PROC_CONTROLLER_ON_EXIT"); v != "" {
		return v == "Keep"
	}
	m, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.mainPID))
	return strings.Contains(string(m), "PROC_CONTROLLER_ON_EXIT=Keep")
}

// reap takes in what came to us because its parent ended. The controllers and
// the bystanders are waited for elsewhere.
func (c *chaos) reap() {
	for _, z := range zombies(c.self) {
		if z.comm == "sh" || z.comm == "sleep" || z.comm == "setsid" || z.comm == "env" || z.comm == "systemd-run" || z.comm == "true" {
			_, _ = unix.Wait4(z.pid, nil, unix.WNOHANG, nil)
		}
	}
}

// finish ends the controller as a person would, and looks what is left.
func (c *chaos) finish(ctx context.Context) error {
	if err := c.control.end(syscall.SIGTERM); err != nil {
		return err
	}
	err := within(ctx, slack, func() error {
		for _, p := range c.children() {
			if !c.kept(p) {
				return fmt.Errorf("left after a graceful end: %v", p)
			}
		}
		if left := running(c.binary); len(left) > 0 {
			return fmt.Errorf("left after a graceful end: %v", left)
		}
		if left := strayScopes(c.manager.scopes(), c.children()); len(left) > 0 {
			return fmt.Errorf("left after a graceful end: %v", left)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		c.fault("at the end", []string{err.Error()})
	}
	return nil
}

// clear ends everything of the run, by pid, and removes its files.
func (c *chaos) clear() {
	if c.dir == "" {
		return
	}
	if c.control != nil && c.control.running() {
		_ = c.control.end(syscall.SIGKILL)
	}
	for _, g := range running(c.binary) {
		_ = syscall.Kill(g.pid, syscall.SIGKILL)
	}
	_ = within(context.Background(), patience, func() error {
		left := c.children()
		for _, p := range left {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		c.reap()
		if len(left) > 0 {
			return fmt.Errorf("%d left", len(left))
		}
		return nil
	})
	for _, s := range c.strangers {
		s.end()
	}
	if c.manager != nil {
		if err := c.manager.stop(); err != nil {
			fmt.Fprintln(c.out, err)
			return // its directory says what is left
		}
	}
	_ = os.RemoveAll(c.dir)
}
