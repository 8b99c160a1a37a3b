package main

import (
	"testing"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// The way of a workload is told in the same words, whatever verb waits for it.
func TestWayOfAWorkload(t *testing.T) {
	for _, tt := range []struct {
		phase     spec.Phase
		why, want string
	}{
		{"", "there is no such workload", "there is no such workload"},
		{spec.PhaseStarting, "Starting", "starting"},
		{spec.PhaseStarting, "ProbeFailed: refused (for another 10m0s)", "starting: ProbeFailed: refused"},
		{spec.PhaseStopping, "stopping, with pid 7: waiting", "stopping, with pid 7: waiting"},
		{spec.PhaseBackOff, "BackOff: exit code 3 (for another 2.5s)", "BackOff: exit code 3"},
	} {
		o := &api.Object{}
		o.Status.Phase = tt.phase
		if got := wayOf(o, tt.why); got != tt.want {
			t.Errorf("%s, %q: %q, want %q", tt.phase, tt.why, got, tt.want)
		}
	}
	if got := wayOf(nil, "not there"); got != "not there" {
		t.Errorf("of one that is not known: %q", got)
	}
}
