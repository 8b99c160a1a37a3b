//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// s6 drives s6-svscan. A service that ends is started again after one second at
// the earliest: that pause is part of its design and of its restart figure.
type s6 struct {
	w       *world
	process *process
	names   []string
}

func (s *s6) name() string { return "s6" }

func (s *s6) scandir() string { return filepath.Join(s.w.dir, "scan") }

func (s *s6) service(dir, name string) error {
	run := fmt.Sprintf("#!/usr/bin/execlineb -P\n%s %s %s\n", s.w.bench.payload, s.w.record.path, name)
	return errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "run"), []byte(run), 0o700))
}

func (s *s6) prepare(w *world, names []string) error {
	s.w, s.names = w, names
	if err := os.Mkdir(s.scandir(), 0o700); err != nil {
		return err
	}
	for _, name := range names {
		if err := s.service(filepath.Join(s.scandir(), name), name); err != nil {
			return err
		}
	}
	return nil
}

func (s *s6) start() error {
	var err error
	s.process, err = s.w.spawn(nil, environment(), "s6-svscan", "-c", strconv.Itoa(len(s.names)+100), s.scandir())
	return err
}

func (s *s6) ready() error { return nil }

func (s *s6) drop(name string) (func() error, error) {
	from, to := filepath.Join(s.w.dir, name), filepath.Join(s.scandir(), name)
	return func() error {
		if err := os.Rename(from, to); err != nil {
			return err
		}
		return exec.Command("s6-svscanctl", "-a", s.scandir()).Run()
	}, s.service(from, name)
}

func (s *s6) remove(name string, pid int) error {
	if err := os.Rename(filepath.Join(s.scandir(), name), filepath.Join(s.w.dir, "gone-"+name)); err != nil {
		return err
	}
	return exec.Command("s6-svscanctl", "-an", s.scandir()).Run()
}

// stop uses SIGTERM, at which s6-svscan tells its supervisors to stop the
// services and exits when all are down.
func (s *s6) stop() error { return s.process.terminate(syscall.SIGTERM) }

func (s *s6) pid() int { return s.process.pid() }
