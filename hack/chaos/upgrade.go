//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// upgrade puts the binary anew on the disk and has the controller replace itself
// by it. Nothing else may change: the quiet point wants the same controller, and
// the same main processes, as if it had not been.
//
// One upgrade at a time: a second one is refused, and a controller that has only
// just been executed need not be reachable by signal yet.
func (c *chaos) upgrade(ctx context.Context, o op) error {
	c.upgraded(ctx)
	c.tally.upgrades++
	if err := c.install(); err != nil {
		return err
	}
	said, err := os.ReadFile(c.control.log)
	if err != nil {
		return err
	}
	c.control.mark = len(said)
	if err := c.control.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		return err
	}
	c.control.upgrading = true
	if o.wait {
		c.upgraded(ctx)
	}
	return nil
}

// install puts a new copy of the controller's binary in the place of the old one.
func (c *chaos) install() error {
	if err := copyFile(c.binary+".new", c.program); err != nil {
		return err
	}
	return os.Rename(c.binary+".new", c.binary)
}

// upgraded waits until an upgrade that was asked for is done.
func (c *chaos) upgraded(ctx context.Context) {
	err := within(ctx, patience, func() error {
		if !c.control.running() {
			return permanent{fmt.Errorf("the controller has ended in it: %v", c.control.cmd.ProcessState)}
		}
		return c.control.unfinished()
	})
	if err != nil && ctx.Err() == nil {
		c.fault("in an upgrade", []string{err.Error()})
	}
}

// unfinished says what is missing for an upgrade that was asked for to be done.
func (c *control) unfinished() error {
	if !c.upgrading {
		return nil
	}
	if err := c.renewed(); err != nil {
		return err
	}
	c.upgrading = false
	return nil
}

// renewed says what is missing for the controller to be the program that is on
// the disk, and at work.
func (c *control) renewed() error {
	runs, err := os.Stat(fmt.Sprintf("/proc/%d/exe", c.pid()))
	if err != nil {
		return err
	}
	disk, err := os.Stat(c.binary)
	if err != nil {
		return err
	}
	if !os.SameFile(runs, disk) {
		return errors.New("the controller is not the program on the disk")
	}
	said, _ := os.ReadFile(c.log)
	if _, since, _ := bytes.Cut(said[c.mark:], []byte("upgrading")); !bytes.Contains(since, []byte("ready")) {
		return errors.New("the new program is not ready")
	}
	return nil
}
