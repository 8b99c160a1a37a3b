package main

import (
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

// effects says what a change of a workload does: what restarts it, and what acts
// on what runs.
type effects struct{ restarts, live []string }

// effectsOf sorts changes by that.
func effectsOf(changes []spec.FieldChange) (e effects) {
	for _, c := range changes {
		if c.Restarts {
			e.restarts = append(e.restarts, c.Path)
		} else {
			e.live = append(e.live, c.Path)
		}
	}
	return e
}

// lines tell it, what restarts first.
func (e effects) lines() (lines []string) {
	if len(e.restarts) > 0 {
		lines = append(lines, "restarts: "+strings.Join(e.restarts, ", "))
	}
	if len(e.live) > 0 {
		lines = append(lines, "applied live: "+strings.Join(e.live, ", "))
	}
	if len(lines) == 0 {
		lines = append(lines, "same meaning: nothing happens to what runs")
	}
	return lines
}
