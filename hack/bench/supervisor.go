//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// supervisor is a subject of measurement: the controller, the floor or a peer.
// The order of calls is prepare, start, ready, then any number of drop and
// remove, then stop.
type supervisor interface {
	name() string
	// prepare writes the configuration for the named workloads, in the world's
	// directory.
	prepare(w *world, names []string) error
	// start executes the supervisor, which starts the workloads. It returns
	// without waiting for anything.
	start() error
	// ready waits until requests are taken.
	ready() error
	// drop prepares one more workload, and gives the request that makes the
	// supervisor start it. Only the request is timed.
	drop(name string) (request func() error, err error)
	// remove takes a dropped workload, which runs as pid, away again.
	remove(name string, pid int) error
	// stop asks the supervisor to stop everything and waits until it is gone.
	stop() error
	pid() int
}

// world is a private directory with the record of the payloads started in it.
type world struct {
	dir    string
	bench  *bench
	record *record
}

func (b *bench) newWorld(name string) (*world, error) {
	b.worlds++
	dir := filepath.Join(b.dir, fmt.Sprintf("%d-%s", b.worlds, name))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	r, err := openRecord(filepath.Join(dir, "record"))
	if err != nil {
		return nil, err
	}
	return &world{dir, b, r}, nil
}

// end ends what of the world's payloads should have been stopped and was not. The
// files stay until all is measured: ext4 is slow to make files while inodes that
// were deleted in the last minute lie in its way (recently_deleted in
// fs/ext4/ialloc.c).
func (w *world) end() {
	w.record.sweep(w.bench.payload)
	w.record.close()
}

// process is a supervisor's own process, with its output in a file.
type process struct {
	cmd    *exec.Cmd
	output string
}

// stopWithin bounds every stop: then the supervisor is killed.
const stopWithin = 60 * time.Second

// spawn executes a supervisor. Without stdin it gets the null device.
func (w *world) spawn(stdin *os.File, env []string, args ...string) (*process, error) {
	p := &process{exec.Command(args[0], args[1:]...), filepath.Join(w.dir, "output")}
	out, err := os.Create(p.output)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.cmd.Dir = w.dir
	p.cmd.Env = env
	p.cmd.Stdout, p.cmd.Stderr = out, out
	if stdin != nil {
		p.cmd.Stdin = stdin
	}
	// Out of the terminal's group: an interrupt comes through stop alone.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return p, p.cmd.Start()
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// terminate sends the signal and waits for the end.
func (p *process) terminate(sig syscall.Signal) error {
	if p == nil || p.cmd.ProcessState != nil {
		return nil
	}
	p.cmd.Process.Signal(sig)
	killer := time.AfterFunc(stopWithin, func() { p.cmd.Process.Kill() })
	defer killer.Stop()
	if err := p.cmd.Wait(); err != nil {
		out, _ := os.ReadFile(p.output)
		return fmt.Errorf("%s ended badly: %v\n%s", p.cmd.Path, err, lastLines(string(out), 5))
	}
	return nil
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// environment is what supervisors run with: this one's, without what would
// steer a controller.
func environment(extra ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PROC_CONTROLLER_") && !strings.HasPrefix(kv, "XDG_") {
			env = append(env, kv)
		}
	}
	return append(env, extra...)
}

// workloads gives the names of the workloads that are there from the start.
func workloads(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("w-%04d", i)
	}
	return names
}
