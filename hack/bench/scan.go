//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// scanOwner is whom the processes that are scanned belong to.
const scanOwner = spec.Owner("bench")

// scanRows compares the scanner, run in this process, with a C loop that reads
// the same files, while the given number of children of this process run, each
// with the markers of a workload and an environment of 4 KB and more.
func (b *bench) scanRows(figure string, count int) ([]Row, error) {
	w, err := b.newWorld("scan")
	if err != nil {
		return nil, err
	}
	defer w.end()
	if err := w.spawnMarked(count); err != nil {
		return nil, err
	}
	loop, err := b.startLoop()
	if err != nil {
		return nil, err
	}
	defer loop.end()
	s := scanning{bench: b, count: count}
	if s.scanner, err = observe.NewScanner(observe.ScannerOptions{Owner: scanOwner, UID: os.Getuid()}); err != nil {
		return nil, err
	}
	if err := s.remember(); err != nil {
		return nil, err
	}
	taken, err := b.alternate(b.samples, loop.scan, s.depth(observe.Full), s.depth(observe.Resync), s.depth(observe.Look))
	if err != nil {
		return nil, err
	}
	return []Row{
		{Figure: figure + " full", Unit: "ms", Ours: taken[1], Floor: taken[0], Limit: limitScan},
		{Figure: figure + " resync", Unit: "ms", Ours: taken[2], Floor: taken[0], Limit: limitResync},
		{Figure: figure + " look", Unit: "ms", Ours: taken[3], Floor: taken[0]},
	}, nil
}

// spawnMarked starts payloads as children of this process. The record knows
// them, and so the world's end reaps them.
func (w *world) spawnMarked(count int) error {
	padding := strings.Repeat("x", 64-len("BENCH_PAD_000="))
	env := environment()
	for i := range 4096 / 64 {
		env = append(env, fmt.Sprintf("BENCH_PAD_%03d=%s", i, padding))
	}
	names := workloads(count)
	for _, name := range names {
		marked := append(env[:len(env):len(env)],
			spec.EnvSubprocess+"=1", spec.EnvOwner+"="+string(scanOwner), spec.EnvSpec+"=9c1e", spec.EnvOnExit+"=Stop",
			spec.EnvInstance+"="+string(spec.NewInstance(strings.ReplaceAll(name, "-", ""), observe.BootTick())), spec.EnvMCPService+"="+name)
		_, err := syscall.ForkExec(w.bench.payload, []string{w.bench.payload, w.record.path, name},
			&syscall.ProcAttr{Env: marked, Sys: &syscall.SysProcAttr{Setsid: true}})
		if err != nil {
			return fmt.Errorf("cannot start %s: %v", w.bench.payload, err)
		}
	}
	_, err := w.record.awaitAll(w.bench.ctx, names)
	return err
}

// scanning is a scanner with what the controller would know of the workloads: a
// handle on each main process.
type scanning struct {
	bench   *bench
	scanner *observe.Scanner
	count   int
	known   []observe.Witness
}

// remember scans until every process is old enough to be believed, and takes
// down what was found.
func (s *scanning) remember() error {
	for range 2 {
		if err := s.bench.sleep(settle); err != nil {
			return err
		}
		found := s.scanner.Scan(s.bench.ctx, s.known, observe.Full)
		s.known = s.known[:0:0]
		for _, in := range found.Instances {
			s.known = append(s.known, observe.Witness{
				Key: in.Key, ID: in.ID, Hash: in.Hash, OnExit: in.OnExit, Main: in.LastMain, Handle: true,
			})
		}
	}
	s.scanner.Scan(s.bench.ctx, s.known, observe.Full)
	return nil
}

// depth samples scans of one depth.
func (s *scanning) depth(d observe.Depth) sampler {
	return func(int) (float64, error) {
		began := monotonic()
		snapshot := s.scanner.Scan(s.bench.ctx, s.known, d)
		took := milliseconds(monotonic() - began)
		if n := len(snapshot.Instances); snapshot.Err != nil || n != s.count {
			return 0, fmt.Errorf("the scan found %d of %d workloads: %v", n, s.count, snapshot.Err)
		}
		return took, nil
	}
}

// cLoop is the running C loop: a line in, a scan, a line out.
type cLoop struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (b *bench) startLoop() (*cLoop, error) {
	cmd := exec.Command(b.cscan, spec.EnvOwner+"="+string(scanOwner))
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &cLoop{cmd, in, bufio.NewReader(out)}, cmd.Start()
}

func (l *cLoop) scan(int) (float64, error) {
	if _, err := io.WriteString(l.in, "\n"); err != nil {
		return 0, err
	}
	line, err := l.out.ReadString('\n')
	if err != nil {
		return 0, err
	}
	var took time.Duration
	var seen, matched int
	_, err = fmt.Sscan(line, &took, &seen, &matched)
	return milliseconds(took), err
}

func (l *cLoop) end() {
	l.in.Close()
	l.cmd.Wait()
}
