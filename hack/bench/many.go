//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// cycle starts a supervisor with many workloads, leaves it alone for a moment,
// and stops it. It gives the time from its execution to the first instruction
// of the last workload, and the time from SIGTERM to its end, when all are gone.
func (b *bench) cycle(s supervisor, count int) (cold, stop time.Duration, err error) {
	w, err := b.newWorld(s.name())
	if err != nil {
		return 0, 0, err
	}
	defer w.end()
	names := workloads(count)
	if err := s.prepare(w, names); err != nil {
		return 0, 0, err
	}
	unix.Sync() // or the disk is busy with these files during the start
	if err := b.sleep(rested); err != nil {
		return 0, 0, err
	}
	began := monotonic()
	if err := s.start(); err != nil {
		return 0, 0, err
	}
	last, err := w.record.awaitAll(b.ctx, names)
	if err == nil {
		err = b.sleep(settle)
	}
	asked := monotonic()
	if e := s.stop(); err == nil {
		err = e
	}
	stop = monotonic() - asked
	if left := w.record.alive(b.payload); err == nil && len(left) > 0 {
		err = fmt.Errorf("%s ended and left %d workloads", s.name(), len(left))
	}
	return last - began, stop, err
}

// cyclesOf gives the samples of several cycles of each supervisor in turn.
func (b *bench) cyclesOf(n, count int, subjects ...supervisor) (colds, stops []Samples, err error) {
	colds, stops = make([]Samples, len(subjects)), make([]Samples, len(subjects))
	for range n {
		for i, s := range subjects {
			cold, stop, err := b.cycle(s, count)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %v", s.name(), err)
			}
			colds[i] = append(colds[i], milliseconds(cold))
			stops[i] = append(stops[i], milliseconds(stop))
		}
	}
	return colds, stops, nil
}

// cycleRows measures cold start and stop of many workloads.
func (b *bench) cycleRows(layout string, o *ours, count int) ([]Row, error) {
	colds, stops, err := b.cyclesOf(b.cycles, count, &floor{}, o)
	if err != nil {
		return nil, err
	}
	rows := []Row{
		{Figure: "cold/" + layout, Unit: "ms", Ours: colds[1], Floor: colds[0], Limit: limitCold, Peers: map[string]Samples{}},
		{Figure: "stop/" + layout, Unit: "ms", Ours: stops[1], Floor: stops[0], Limit: limitStop, Peers: map[string]Samples{}},
	}
	if o.oneFile {
		return rows, nil
	}
	for _, p := range b.peers() {
		cold, stop, err := b.cyclesOf(2, count, p)
		if err != nil {
			fmt.Fprintln(os.Stderr, "peer skipped:", err)
			continue
		}
		rows[0].Peers[p.name()], rows[1].Peers[p.name()] = cold[0], stop[0]
	}
	return rows, nil
}

// scopeRows measures the cold start of 100 workloads, each in a systemd scope of
// its own, under a user manager that is started for it.
func (b *bench) scopeRows() ([]Row, error) {
	script := filepath.Join(b.root, "hack", "user-manager")
	if _, err := os.Stat(script); err != nil {
		fmt.Fprintln(os.Stderr, "scopes/100 skipped:", err)
		return nil, nil
	}
	dir := filepath.Join(b.dir, "user-manager")
	if out, err := exec.Command(script, "start", dir).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "scopes/100 skipped: no user manager: %v\n%s", err, lastLines(string(out), 3))
		return nil, nil
	}
	defer exec.Command(script, "stop", dir).Run()
	colds, _, err := b.cyclesOf(b.cycles, 100, &ours{runtime: dir})
	if err != nil {
		return nil, err
	}
	return []Row{{Figure: "cold/100-scopes", Unit: "ms", Ours: colds[0], Limit: limitScopes}}, nil
}
