//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// dinit drives a user instance of dinit through its control program.
type dinit struct {
	w       *world
	process *process
}

func (d *dinit) name() string { return "dinit" }

func (d *dinit) services() string { return filepath.Join(d.w.dir, "services") }

func (d *dinit) socket() string { return filepath.Join(d.w.dir, "sock") }

func (d *dinit) service(name string) error {
	text := fmt.Sprintf("type = process\ncommand = %s %s %s\nrestart = true\nrestart-delay = 0\n"+
		"restart-limit-count = 0\n", d.w.bench.payload, d.w.record.path, name)
	return os.WriteFile(filepath.Join(d.services(), name), []byte(text), 0o600)
}

func (d *dinit) prepare(w *world, names []string) error {
	d.w = w
	if err := os.MkdirAll(filepath.Join(d.services(), "boot.d"), 0o700); err != nil {
		return err
	}
	for _, name := range names {
		if err := d.service(name); err != nil {
			return err
		}
		if err := os.Symlink("../"+name, filepath.Join(d.services(), "boot.d", name)); err != nil {
			return err
		}
	}
	boot := "type = internal\nwaits-for.d = boot.d\n"
	return os.WriteFile(filepath.Join(d.services(), "boot"), []byte(boot), 0o600)
}

func (d *dinit) start() error {
	var err error
	d.process, err = d.w.spawn(nil, environment(), "dinit", "--user", "--quiet",
		"--services-dir", d.services(), "--socket-path", d.socket(), "boot")
	return err
}

func (d *dinit) ready() error {
	for deadline := time.Now().Add(startWithin); time.Now().Before(deadline); {
		if _, err := os.Stat(d.socket()); err == nil {
			return nil
		}
		if err := d.w.bench.sleep(20 * time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("dinit did not open %s", d.socket())
}

func (d *dinit) control(args ...string) *exec.Cmd {
	return exec.Command("dinitctl", append([]string{"--socket-path", d.socket(), "--quiet"}, args...)...)
}

func (d *dinit) drop(name string) (func() error, error) {
	return d.control("start", "--no-wait", name).Run, d.service(name)
}

func (d *dinit) remove(name string, pid int) error {
	if err := d.control("stop", "--no-wait", name).Run(); err != nil {
		return err
	}
	return d.w.bench.awaitGone(pid)
}

func (d *dinit) stop() error { return d.process.terminate(syscall.SIGTERM) }

func (d *dinit) pid() int { return d.process.pid() }
