//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
)

// peerSampleLimit bounds the samples of a peer: some take seconds for one.
const peerSampleLimit = 10

// A peer is another supervisor, run privately in a world's directory.
var allPeers = []struct {
	programs []string // that must be installed
	make     func() supervisor
}{
	{[]string{"dinit", "dinitctl"}, func() supervisor { return &dinit{} }},
	{[]string{"s6-svscan", "s6-svscanctl", "execlineb"}, func() supervisor { return &s6{} }},
	{[]string{"supervisord", "supervisorctl"}, func() supervisor { return &supervisord{} }},
}

// peers gives the peers that are installed.
func (b *bench) peers() []supervisor {
	if !b.withPeers {
		return nil
	}
	var found []supervisor
next:
	for _, p := range allPeers {
		for _, program := range p.programs {
			if _, err := exec.LookPath(program); err != nil {
				fmt.Fprintf(os.Stderr, "peer skipped: %s is not installed\n", program)
				continue next
			}
		}
		found = append(found, p.make())
	}
	return found
}

// peerSamples takes samples from each peer alone, with its workloads running. A
// peer that fails is skipped: it is no part of what is measured.
func (b *bench) peerSamples(workloads int, take func(supervisor, *world) sampler) (map[string]Samples, error) {
	all := map[string]Samples{}
	for _, s := range b.peers() {
		samples, err := b.onePeer(s, workloads, take)
		if b.ctx.Err() != nil {
			return nil, b.ctx.Err()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "peer skipped:", err)
			continue
		}
		all[s.name()] = samples
	}
	return all, nil
}

func (b *bench) onePeer(s supervisor, workloads int, take func(supervisor, *world) sampler) (Samples, error) {
	w, end, err := b.run(s, workloads)
	if err != nil {
		return nil, err
	}
	defer end()
	taken, err := b.alternate(min(b.samples, peerSampleLimit), take(s, w))
	if err != nil {
		return nil, fmt.Errorf("%s: %v", s.name(), err)
	}
	return taken[0], nil
}
