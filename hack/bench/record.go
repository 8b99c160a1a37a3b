//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// mark is the first instruction of one payload.
type mark struct {
	name string
	at   time.Duration // on CLOCK_MONOTONIC
	pid  int
}

// record is the file that payloads append to, read as it grows.
type record struct {
	path    string
	file    *os.File
	changes *os.File // inotify, so that nothing runs while a sample is awaited
	partial []byte
	marks   []mark
	byName  map[string][]mark
}

// A payload that did not start within this time never will.
const startWithin = 30 * time.Second

func openRecord(path string) (*record, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("cannot watch %s: %v", path, err)
	}
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_MODIFY); err != nil {
		return nil, fmt.Errorf("cannot watch %s: %v", path, err)
	}
	return &record{path: path, file: f, changes: os.NewFile(uintptr(fd), "inotify"), byName: map[string][]mark{}}, nil
}

func (r *record) close() {
	r.file.Close()
	r.changes.Close()
}

// read takes in what was appended since the last call.
func (r *record) read() error {
	b, err := io.ReadAll(r.file)
	if err != nil {
		return err
	}
	r.partial = append(r.partial, b...)
	for {
		line, rest, ok := bytes.Cut(r.partial, []byte("\n"))
		if !ok {
			return nil
		}
		m, err := parseMark(string(line))
		if err != nil {
			return err
		}
		r.marks = append(r.marks, m)
		r.byName[m.name] = append(r.byName[m.name], m)
		r.partial = rest
	}
}

// parseMark takes a line of the payload: name, nanoseconds, pid.
func parseMark(line string) (mark, error) {
	f := strings.Fields(line)
	if len(f) != 3 {
		return mark{}, fmt.Errorf("cannot parse mark %q", line)
	}
	at, err1 := strconv.ParseInt(f[1], 10, 64)
	pid, err2 := strconv.Atoi(f[2])
	if err1 != nil || err2 != nil || pid <= 1 {
		return mark{}, fmt.Errorf("cannot parse mark %q", line)
	}
	return mark{f[0], time.Duration(at), pid}, nil
}

// await waits for the nth start (from 1) of the named workload.
func (r *record) await(name string, n int) (mark, error) {
	r.changes.SetReadDeadline(time.Now().Add(startWithin))
	var events [4096]byte
	for {
		if err := r.read(); err != nil {
			return mark{}, err
		}
		if m := r.byName[name]; len(m) >= n {
			return m[n-1], nil
		}
		if _, err := r.changes.Read(events[:]); err != nil {
			return mark{}, fmt.Errorf("%s did not start for the %d. time: %v", name, n, err)
		}
	}
}

// awaitAll waits until each of the names has started and gives the time of the
// last. It polls: to be woken for each would take a core away from the start.
func (r *record) awaitAll(ctx context.Context, names []string) (time.Duration, error) {
	deadline := time.Now().Add(2 * startWithin)
	for {
		if err := r.read(); err != nil {
			return 0, err
		}
		missing, last := 0, time.Duration(0)
		for _, name := range names {
			if m := r.byName[name]; len(m) == 0 {
				missing++
			} else {
				last = max(last, m[0].at)
			}
		}
		if missing == 0 {
			return last, nil
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("%d of %d workloads did not start", missing, len(names))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// alive gives the recorded payloads that still run.
func (r *record) alive(payload string) []int {
	var pids []int
	r.read()
	for _, m := range r.marks {
		if exe, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(m.pid), "exe")); err == nil && exe == payload {
			pids = append(pids, m.pid)
		}
	}
	return pids
}

// sweep ends what is left of the recorded payloads, and reaps those that came
// to this process because their supervisor is gone.
func (r *record) sweep(payload string) {
	for _, pid := range r.alive(payload) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, m := range r.marks {
		// Fails at once for what somebody else has reaped.
		syscall.Wait4(m.pid, nil, 0, nil)
	}
}
