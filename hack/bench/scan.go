//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// The processes that are scanned belong to this owner and carry an environment
// of 4 KB and more: padding, and what this process has itself.
const (
	scanOwner = spec.Owner("bench")
	scanPad   = 4096
)

// scanRows compares the scanner, run in this process, with a C loop that reads
// the same files, while the given number of marked processes run.
func (b *bench) scanRows(figure string, count int) ([]Row, error) {
	_, end, err := b.run(&floor{owner: string(scanOwner), pad: scanPad}, count)
	if err != nil {
		return nil, err
	}
	defer end()
	loop, err := b.startLoop()
	if err != nil {
		return nil, err
	}
	defer loop.end()
	scanner, err := observe.NewScanner(observe.ScannerOptions{Owner: scanOwner, UID: os.Getuid()})
	if err != nil {
		return nil, err
	}
	depth := func(d observe.Depth) sampler {
		return func(int) (float64, error) {
			began := monotonic()
			snapshot := scanner.Scan(b.ctx, nil, d)
			took := milliseconds(monotonic() - began)
			if n := len(snapshot.Instances); snapshot.Err != nil || n != count {
				return 0, fmt.Errorf("the scan found %d of %d workloads: %v", n, count, snapshot.Err)
			}
			return took, nil
		}
	}
	taken, err := b.alternate(b.samples, loop.scan, depth(observe.Full), depth(observe.Resync), depth(observe.Look))
	if err != nil {
		return nil, err
	}
	return []Row{
		{Figure: figure + " full", Unit: "ms", Ours: taken[1], Floor: taken[0], Limit: limitScan},
		{Figure: figure + " resync", Unit: "ms", Ours: taken[2], Floor: taken[0], Limit: limitResync},
		{Figure: figure + " look", Unit: "ms", Ours: taken[3], Floor: taken[0]},
	}, nil
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
