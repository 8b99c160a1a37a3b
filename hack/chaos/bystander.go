//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

// bystanderVariable makes this program one of the bystanders; it names the file
// that the bystander writes every signal to that it gets.
const bystanderVariable = "CHAOS_BYSTANDER"

// bystander does nothing but note signals. What cannot be noted shows all the
// same: SIGKILL ends it, SIGSTOP stops it.
func bystander(path string) {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		os.Exit(1)
	}
	fmt.Fprintln(f, "here")
	for s := range signals {
		if s != syscall.SIGURG { // the Go runtime sends it to itself
			fmt.Fprintln(f, s)
		}
	}
}

// stranger is a bystander that runs.
type stranger struct {
	name string
	cmd  *exec.Cmd
	path string // of what it notes
}

// otherUID is a disguise that needs root.
const otherUID = "other uid"

// disguises make strangers look like processes of the owner, each in one way
// that must not be enough.
func disguises(owner string) map[string]func(*exec.Cmd) {
	env := func(vars ...string) func(*exec.Cmd) {
		return func(c *exec.Cmd) { c.Env = append(c.Env, vars...) }
	}
	all := func(owner string) []string {
		return []string{
			"PROC_CONTROLLER_SUBPROCESS=1", "PROC_CONTROLLER_OWNER=" + owner, "PROC_CONTROLLER_INSTANCE=aaaaaaaaaaaa-1",
			"PROC_CONTROLLER_SPEC=abc", "PROC_CONTROLLER_ON_EXIT=Stop", "AGENT_NAME=" + nameOf(0),
		}
	}
	return map[string]func(*exec.Cmd){
		"plain":       env(),
		"some":        env(all(owner)[1:4]...),
		"other owner": env(all(owner + "x")...),
		"longer":      env("X=" + all(owner)[1] + "\nPROC_CONTROLLER_SUBPROCESS=1"),
		"arguments":   func(c *exec.Cmd) { c.Args = append(c.Args, all(owner)...) },
		otherUID: func(c *exec.Cmd) {
			c.Env = append(c.Env, all(owner)...)
			c.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
		},
	}
}

// callIn starts the bystanders and waits until they listen.
func callIn(ctx context.Context, dir, program, owner string) (all []*stranger, err error) {
	for name, disguise := range disguises(owner) {
		if name == otherUID && os.Getuid() != 0 {
			continue
		}
		s, err := callOne(dir, program, name, disguise)
		if err != nil {
			return all, err
		}
		all = append(all, s)
	}
	return all, within(ctx, patience, func() error {
		for _, s := range all {
			if said := s.complaint(); said != "" {
				return errors.New(said)
			}
		}
		return nil
	})
}

func callOne(dir, program, name string, disguise func(*exec.Cmd)) (*stranger, error) {
	s := &stranger{name: name, path: filepath.Join(dir, name), cmd: exec.Command(program)}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	disguise(s.cmd)
	s.cmd.Env = append(s.cmd.Env, bystanderVariable+"="+s.path, "GODEBUG=asyncpreemptoff=1")
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the bystander %q: %w", name, err)
	}
	return s, nil
}

// complaint says what was done to it; empty if nothing was.
func (s *stranger) complaint() string {
	noted, _ := os.ReadFile(s.path)
	p, ok := lookup(s.cmd.Process.Pid)
	switch {
	case string(noted) != "here\n":
		return fmt.Sprintf("the stranger %q was signalled: %q", s.name, noted)
	case !ok || p.dead():
		return fmt.Sprintf("the stranger %q was killed", s.name)
	case p.state == 'T':
		return fmt.Sprintf("the stranger %q was stopped", s.name)
	}
	return ""
}

// end ends it.
func (s *stranger) end() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}
