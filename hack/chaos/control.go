//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// control is the controller of a run, one process after another.
type control struct {
	place
	*observer
	cmd    *exec.Cmd
	exited chan struct{}
	log    string // of the present one
	number int
	scopes string   // mode of them
	env    []string // beside what every controller gets

	upgrading bool
	mark      int // where in the log the upgrade begins
}

// patience is how long anything may take on a busy machine.
const patience = 30 * time.Second

// launch starts a controller and waits until it is ready. One that was killed
// may still have a guard that holds its lock: that is waited for.
func (c *control) launch(ctx context.Context) error {
	c.number++
	c.upgrading = false
	c.log = filepath.Join(c.dir, fmt.Sprintf("log.%d", c.number%4))
	log, err := os.Create(c.log)
	if err != nil {
		return err
	}
	defer log.Close()
	c.cmd = exec.Command(c.binary, "run", "--manifests", c.manifests, "--state-dir", c.state,
		"--socket", filepath.Join(c.dir, "r", "api.sock"), "--owner", c.owner, "--scopes", c.scopes, "--delete-hold", "1s")
	c.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir}, c.env...)
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	c.exited = exited
	go func(cmd *exec.Cmd) {
		_ = cmd.Wait()
		close(exited)
	}(c.cmd)
	return within(ctx, patience, func() error {
		select {
		case <-exited:
			return permanent{fmt.Errorf("the controller has ended: %v", c.cmd.ProcessState)}
		default:
		}
		if said, _ := os.ReadFile(c.log); !bytes.Contains(said, []byte("ready")) {
			return errors.New("the controller is not ready")
		}
		return nil
	})
}

func (c *control) pid() int { return c.cmd.Process.Pid }

// running says that there is one.
func (c *control) running() bool {
	if c.cmd == nil {
		return false
	}
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

// end signals the controller and waits until it is gone.
func (c *control) end(sig syscall.Signal) error {
	if err := c.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-c.exited:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("the controller did not end within %v of %v", patience, sig)
	}
}

// guards gives what else runs the program of the controller, but for what is only
// asked for its version before an upgrade.
func (c *control) guards() (found []proc) {
	for _, p := range running(c.binary) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		if p.pid != c.pid() && !bytes.Contains(line, []byte("\x00version\x00")) {
			found = append(found, p)
		}
	}
	return found
}

// guarded says that there is a guard: from the moment on in which it executes its
// program it has all that it needs. One that has been killed a moment ago may not
// have been replaced yet.
func (c *control) guarded() bool {
	return slices.ContainsFunc(c.guards(), func(p proc) bool {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		return bytes.Contains(line, []byte("\x00guard-of\x00"))
	})
}

// tail is the end of what the controller has said.
func (c *control) tail(lines int) string {
	said, _ := os.ReadFile(c.log)
	all := strings.Split(strings.TrimSpace(string(said)), "\n")
	return "  " + strings.Join(all[max(0, len(all)-lines):], "\n  ")
}

// permanent is an objection that no wait will cure.
type permanent struct{ error }

// within waits until cond has no objection, and gives the last one if the time
// is over.
func within(ctx context.Context, limit time.Duration, cond func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := cond()
		if _, hopeless := errors.AsType[permanent](err); err == nil || hopeless {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}
