//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// floor drives the bare supervisor of the floor directory.
type floor struct {
	restart bool // start again what ends
	watch   bool // take renamed files as requests, instead of lines on a pipe

	w       *world
	names   []string
	process *process
	pipe    io.WriteCloser
}

func (f *floor) name() string { return "floor" }

func (f *floor) requests() string { return filepath.Join(f.w.dir, "requests") }

func (f *floor) prepare(w *world, names []string) error {
	f.w, f.names = w, names
	return errors.Join(os.Mkdir(filepath.Join(w.dir, "logs"), 0o700), os.Mkdir(f.requests(), 0o700))
}

func (f *floor) start() error {
	args := []string{
		f.w.bench.floorProgr, "-payload", f.w.bench.payload, "-record", f.w.record.path,
		"-logs", filepath.Join(f.w.dir, "logs"), "-fill", strconv.Itoa(len(f.names)),
		"-restart=" + strconv.FormatBool(f.restart),
	}
	if f.watch {
		args = append(args, "-watch", f.requests())
	}
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	f.pipe = out
	f.process, err = f.w.spawn(in, environment(), args...)
	return err
}

func (f *floor) ready() error { return nil }

func (f *floor) drop(name string) (func() error, error) {
	if f.watch {
		from := filepath.Join(f.w.dir, name+".yaml")
		to := filepath.Join(f.requests(), name+".yaml")
		return func() error { return os.Rename(from, to) }, os.WriteFile(from, nil, 0o600)
	}
	return func() error {
		_, err := fmt.Fprintf(f.pipe, "start %s\n", name)
		return err
	}, nil
}

func (f *floor) remove(name string, pid int) error {
	return syscall.Kill(pid, syscall.SIGTERM)
}

func (f *floor) stop() error {
	err := f.process.terminate(syscall.SIGTERM)
	f.pipe.Close()
	return err
}

func (f *floor) pid() int { return f.process.pid() }
