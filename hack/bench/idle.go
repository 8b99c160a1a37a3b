//go:build linux

package main

import "time"

// idleAfter is how long after the start of all a supervisor is taken to be idle.
const idleAfter = 10*time.Second - settle

// usage is what a supervisor takes while nothing happens.
type usage struct {
	cpu     float64 // per cent of a core
	threads float64 // the most that were seen
	rss     float64 // MB (2^20 bytes)
}

// watchIdle measures a supervisor that has been left alone.
func (b *bench) watchIdle(s supervisor, count int) (usage, error) {
	_, end, err := b.run(s, count)
	if err != nil {
		return usage{}, err
	}
	defer end()
	if err := b.sleep(idleAfter); err != nil {
		return usage{}, err
	}
	var u usage
	before, err := cpuTime(s.pid())
	if err != nil {
		return usage{}, err
	}
	began := time.Now()
	for time.Since(began) < b.idle {
		if err := b.sleep(time.Second); err != nil {
			return usage{}, err
		}
		threads, err := statusNumber(s.pid(), "Threads")
		if err != nil {
			return usage{}, err
		}
		u.threads = max(u.threads, float64(threads))
	}
	after, err := cpuTime(s.pid())
	if err != nil {
		return usage{}, err
	}
	u.cpu = 100 * float64(after-before) / float64(time.Since(began))
	rss, err := statusNumber(s.pid(), "VmRSS")
	u.rss = float64(rss) / 1024
	return u, err
}

// idleRows measures the controller, the floor and the peers at rest.
func (b *bench) idleRows(figure string, count int) ([]Row, error) {
	rows := []Row{
		{Figure: figure + " cpu", Unit: "%", Limit: limitCPU, Peers: map[string]Samples{}},
		{Figure: figure + " threads", Unit: "", Limit: limitThreads, Peers: map[string]Samples{}},
		{Figure: figure + " memory", Unit: "MB", Limit: limitRSS, Peers: map[string]Samples{}},
	}
	for _, s := range append([]supervisor{&ours{}, &floor{}}, b.peers()...) {
		u, err := b.watchIdle(s, count)
		if err != nil {
			return nil, err
		}
		for i, value := range []float64{u.cpu, u.threads, u.rss} {
			switch s.name() {
			case "ours":
				rows[i].Ours = Samples{value}
			case "floor":
				rows[i].Floor = Samples{value}
			default:
				rows[i].Peers[s.name()] = Samples{value}
			}
		}
	}
	return rows, nil
}
