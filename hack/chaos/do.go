//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// do carries out one operation. It says which main process it has ended.
func (c *chaos) do(ctx context.Context, o op) (*hit, error) {
	switch o.kind {
	case opDropDir:
		return nil, c.dropDir(o)
	case opMakeDir:
		return nil, c.makeDir(ctx, o)
	case opKillMain, opFinishMain, opKillMember, opFreeze, opThaw:
		return c.strike(o), nil
	case opKillGuard:
		c.killGuards(ctx)
		return nil, nil
	case opCrash:
		return nil, c.crash(ctx, o)
	case opCrashBoth:
		c.killGuards(ctx)
		return nil, c.crash(ctx, o)
	case opLaunch:
		return nil, c.launch(ctx)
	case opRestart:
		c.tally.restarts++
		if err := c.control.end(syscall.SIGTERM); err != nil {
			return nil, err
		}
		return nil, c.launch(ctx)
	case opUpgrade:
		return nil, c.upgrade(ctx, o)
	case opDropState:
		return nil, within(ctx, slack, func() error { return os.RemoveAll(c.state) }) // it is written to meanwhile
	}
	for _, w := range o.writes {
		if err := c.write(ctx, w); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// write changes one file in the manner that it says.
func (c *chaos) write(ctx context.Context, w write) error {
	path := filepath.Join(c.manifests, w.name)
	content := []byte(strings.NewReplacer(tagMark, c.tag, scopeMark, c.scopePolicy()).Replace(w.content))
	switch {
	case w.content == "" || w.how == anew:
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if w.content == "" {
			return nil
		}
	case w.how == byRename:
		tmp := filepath.Join(c.manifests, "."+w.name+".tmp")
		if err := os.WriteFile(tmp, content, 0o644); err != nil {
			return err
		}
		return os.Rename(tmp, path)
	case w.how == inHalves:
		return writeHalves(ctx, path, content)
	}
	return os.WriteFile(path, content, 0o644)
}

// scopePolicy is what manifests ask for. Where there are to be scopes, a probe
// that a busy machine answers too late must not end in a start without one.
func (c *chaos) scopePolicy() string {
	if c.scopes == scopesOff {
		return "Auto"
	}
	return "Required"
}

// writeHalves is an editor that is interrupted.
func writeHalves(ctx context.Context, path string, content []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	half := len(content) / 2
	if _, err := f.Write(content[:half]); err != nil {
		return err
	}
	pause(ctx, 80*time.Millisecond)
	_, err = f.Write(content[half:])
	return err
}

// dropDir takes the directory away, or what is in it as well.
func (c *chaos) dropDir(o op) error {
	if o.pick == 0 {
		return os.RemoveAll(c.manifests)
	}
	away := c.manifests + ".away"
	if err := os.RemoveAll(away); err != nil {
		return err
	}
	return os.Rename(c.manifests, away)
}

// makeDir makes it again: whole, by rename, or file by file.
func (c *chaos) makeDir(ctx context.Context, o op) error {
	final := c.manifests
	if o.pick == 0 {
		c.manifests += ".new"
	}
	defer func() { c.manifests = final }()
	// A controller that is started without a directory may have made it.
	for _, d := range slices.Compact([]string{final, c.manifests}) {
		if err := os.RemoveAll(d); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(c.manifests, 0o755); err != nil {
		return err
	}
	for _, w := range o.writes {
		if err := c.write(ctx, w); err != nil {
			return err
		}
	}
	if c.manifests == final {
		return nil
	}
	return os.Rename(c.manifests, final)
}

// strike does something to one of the processes of a workload.
func (c *chaos) strike(o op) *hit {
	var targets []child
	for _, p := range c.children() {
		main := o.kind == opKillMain || o.kind == opFinishMain
		if p.key != o.key || o.kind != opFreeze && o.kind != opThaw && p.main != main || o.kind == opThaw && p.state != 'T' {
			continue
		}
		targets = append(targets, p)
	}
	if len(targets) == 0 {
		return nil
	}
	slices.SortFunc(targets, func(a, b child) int { return int(int64(a.start) - int64(b.start)) })
	p := targets[o.pick%len(targets)]
	c.tally.hits++
	switch o.kind {
	case opKillMain:
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
		return &hit{rev: p.rev}
	case opKillMember:
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
		if p.wrapper() {
			return &hit{rev: p.rev, starting: true}
		}
	case opFinishMain:
		if !catches(p.pid, int(syscall.SIGUSR1)) {
			return nil
		}
		_ = syscall.Kill(p.pid, syscall.SIGUSR1)
		_ = syscall.Kill(p.pid, syscall.SIGCONT)
		return &hit{rev: p.rev, finished: true}
	case opFreeze:
		_ = syscall.Kill(p.pid, syscall.SIGSTOP)
		if p.wrapper() { // it is given up after five seconds
			return &hit{rev: p.rev, starting: true}
		}
	case opThaw:
		for _, t := range targets {
			_ = syscall.Kill(t.pid, syscall.SIGCONT)
		}
	}
	return nil
}

// killGuards kills the guard. A child that has not executed its program yet
// looks like one, but not for long.
func (c *chaos) killGuards(ctx context.Context) {
	if c.guards <= 0 {
		return
	}
	first := c.control.guards()
	pause(ctx, 30*time.Millisecond)
	for _, g := range c.control.guards() {
		if slices.ContainsFunc(first, func(p proc) bool { return p.pid == g.pid && p.start == g.start }) {
			c.tally.guards++
			_ = syscall.Kill(g.pid, syscall.SIGKILL)
			// Until it is dead it would be taken for one that stands.
			_ = within(ctx, slack, func() error {
				if p, ok := lookup(g.pid); ok && p.start == g.start && !p.dead() {
					return errors.New("not dead yet")
				}
				return nil
			})
		}
	}
}

// crash kills the controller; if the operation says so, everything that is to
// die with it has to be gone before the next thing happens.
func (c *chaos) crash(ctx context.Context, o op) error {
	c.tally.crashes++
	c.unguarded = o.kind == opCrashBoth || !c.control.guarded()
	if err := c.control.end(syscall.SIGKILL); err != nil {
		return err
	}
	if !o.wait || c.unguarded {
		return nil
	}
	err := within(ctx, (grace+2)*time.Second+slack, func() error {
		c.reap()
		for _, p := range c.children() {
			if !c.kept(p) {
				return fmt.Errorf("the controller is dead and this lives: %v", p)
			}
		}
		if left := running(c.binary); len(left) > 0 {
			return fmt.Errorf("the controller is dead, its work is done and this lives: %v", left)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		c.fault("after a crash", []string{err.Error()})
	}
	return nil
}

// slack is what a busy machine may add to a limit of the product.
const slack = 3 * time.Second
