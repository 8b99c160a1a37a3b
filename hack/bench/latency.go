//go:build linux

package main

import (
	"fmt"
	"sync"
	"syscall"
	"time"
)

// settle is how long a supervisor is left alone after a start of many, so that
// what it does behind the start is over.
const settle = 2 * time.Second

// rested is the age that files should have reached: one that was written a moment
// ago may still be being written, and is no ordinary start.
const rested = 3 * time.Second

// run starts a supervisor in a world of its own, with the given number of
// workloads, and waits until all is at rest. The caller calls end, which may be
// called again.
func (b *bench) run(s supervisor, count int) (w *world, end func(), err error) {
	if w, err = b.newWorld(s.name()); err != nil {
		return nil, nil, err
	}
	names := workloads(count)
	end = sync.OnceFunc(func() {
		s.stop()
		w.end()
	})
	if err = s.prepare(w, names); err == nil {
		err = b.sleep(rested)
	}
	if err == nil {
		err = s.start()
	}
	if err != nil {
		w.end()
		return nil, nil, err
	}
	if err = s.ready(); err == nil {
		_, err = w.record.awaitAll(b.ctx, names)
	}
	if err == nil {
		err = b.sleep(settle)
	}
	if err != nil {
		end()
		return nil, nil, fmt.Errorf("%s: %v", s.name(), err)
	}
	return w, end, nil
}

// sampler takes one sample, in milliseconds.
type sampler func(i int) (float64, error)

// alternate takes samples from each in turn, so that what else the machine does
// meets all of them alike.
func (b *bench) alternate(n int, takers ...sampler) ([]Samples, error) {
	taken := make([]Samples, len(takers))
	for i := range n {
		for j, take := range takers {
			if err := b.pause(); err != nil {
				return nil, err
			}
			sample, err := take(i)
			if err != nil {
				return nil, err
			}
			taken[j] = append(taken[j], sample)
		}
	}
	return taken, nil
}

// dropper samples the time from the request for one more workload to its first
// instruction, and takes the workload away again.
func (b *bench) dropper(s supervisor, w *world, name func(i int) string) sampler {
	times := map[string]int{}
	return func(i int) (float64, error) {
		request, err := s.drop(name(i))
		if err != nil {
			return 0, err
		}
		if err := b.pause(); err != nil {
			return 0, err
		}
		began := monotonic()
		if err := request(); err != nil {
			return 0, err
		}
		times[name(i)]++
		m, err := w.record.await(name(i), times[name(i)])
		if err != nil {
			return 0, err
		}
		if err := s.remove(name(i), m.pid); err != nil {
			return 0, err
		}
		return milliseconds(m.at - began), b.awaitGone(m.pid)
	}
}

func dropName(i int) string { return fmt.Sprintf("drop-%04d", i) }

// restarter samples the time from the kill of a workload to the first
// instruction of its replacement.
func (b *bench) restarter(w *world, name string) sampler {
	return func(i int) (float64, error) {
		m, err := w.record.await(name, i+1)
		if err != nil {
			return 0, err
		}
		began := monotonic()
		if err := syscall.Kill(m.pid, syscall.SIGKILL); err != nil {
			return 0, err
		}
		next, err := w.record.await(name, i+2)
		return milliseconds(next.at - began), err
	}
}

// dropRows measures the controller among others against the bare floor. A floor
// that has as many children shows what of the difference is the kernel's: a fork
// copies the table of open files, with a pidfd for each child in it, and the
// exec closes them.
func (b *bench) dropRows(figure string, others int) ([]Row, error) {
	o, alone, among := &ours{}, &floor{}, &floor{}
	wo, end, err := b.run(o, others)
	if err != nil {
		return nil, err
	}
	defer end()
	wf, endAlone, err := b.run(alone, 0)
	if err != nil {
		return nil, err
	}
	defer endAlone()
	wa, endAmong, err := b.run(among, others)
	if err != nil {
		return nil, err
	}
	defer endAmong()
	taken, err := b.alternate(b.samples,
		b.dropper(alone, wf, dropName), b.dropper(among, wa, dropName), b.dropper(o, wo, dropName))
	if err != nil {
		return nil, err
	}
	endAmong()
	end()
	peers, err := b.peerSamples(others, func(s supervisor, w *world) sampler { return b.dropper(s, w, dropName) })
	rows := []Row{{Figure: figure, Unit: "ms", Ours: taken[2], Floor: taken[0], Peers: peers, Limit: limitDrop}}
	if others > 0 {
		rows = append(rows, Row{Figure: "bare " + figure, Unit: "ms", Ours: taken[1], Floor: taken[0]})
	}
	return rows, err
}

// renameFloor measures what a rename instead of a pipe costs the bare floor.
func (b *bench) renameFloor() ([]Row, error) {
	pipe, rename := &floor{}, &floor{watch: true}
	wp, endPipe, err := b.run(pipe, 0)
	if err != nil {
		return nil, err
	}
	defer endPipe()
	wr, endRename, err := b.run(rename, 0)
	if err != nil {
		return nil, err
	}
	defer endRename()
	taken, err := b.alternate(b.samples, b.dropper(pipe, wp, dropName), b.dropper(rename, wr, dropName))
	if err != nil {
		return nil, err
	}
	return []Row{{Figure: "bare drop by rename", Unit: "ms", Ours: taken[1], Floor: taken[0]}}, nil
}

// restartRows measures restarts after SIGKILL. One more workload than others is
// there, which is killed again and again.
func (b *bench) restartRows(figure string, others int) ([]Row, error) {
	o, f := &ours{}, &floor{restart: true}
	wo, end, err := b.run(o, others+1)
	if err != nil {
		return nil, err
	}
	defer end()
	wf, endFloor, err := b.run(f, 1)
	if err != nil {
		return nil, err
	}
	defer endFloor()
	victim := workloads(1)[0]
	taken, err := b.alternate(b.samples, b.restarter(wf, victim), b.restarter(wo, victim))
	if err != nil {
		return nil, err
	}
	end()
	peers, err := b.peerSamples(others+1, func(s supervisor, w *world) sampler { return b.restarter(w, victim) })
	return []Row{{Figure: figure, Unit: "ms", Ours: taken[1], Floor: taken[0], Peers: peers, Limit: limitRestart}}, err
}

// changeRows measures a change to one of 10,000 workloads, all but 1,000 of them
// suspended: one of those is resumed, and suspended again.
func (b *bench) changeRows() ([]Row, error) {
	const running, suspended = 1000, 9000
	o, f := &ours{spare: suspended}, &floor{}
	wo, end, err := b.run(o, running)
	if err != nil {
		return nil, err
	}
	defer end()
	wf, endFloor, err := b.run(f, 0)
	if err != nil {
		return nil, err
	}
	defer endFloor()
	spread := func(i int) string { return spareName(i * 211 % suspended) }
	taken, err := b.alternate(b.samples, b.dropper(f, wf, dropName), b.dropper(o, wo, spread))
	if err != nil {
		return nil, err
	}
	return []Row{{Figure: "change/10000", Unit: "ms", Ours: taken[1], Floor: taken[0], Limit: limitChange}}, nil
}
