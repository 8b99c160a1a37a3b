package main

import (
	"testing"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// A wait ends at once where only an edit can make it true, and goes on where
// time may.
func TestWaitKnowsWhatIsHopeless(t *testing.T) {
	object := func(ph spec.Phase, good bool, is spec.ConditionStatus, r spec.Reason) *api.Object {
		o := &api.Object{Status: api.Status{Status: spec.Status{Phase: ph, Conditions: []spec.Condition{{Type: spec.CondReady, Status: is, Reason: r}}}}}
		if good {
			o.Spec = &spec.Spec{}
		}
		return o
	}
	ready, unready, gone := aim{condition: spec.CondReady, status: spec.True}, aim{condition: spec.CondReady, status: spec.False}, aim{gone: true}
	for _, tt := range []struct {
		name          string
		a             aim
		o             *api.Object
		met, hopeless bool
	}{
		{"ready", ready, object(spec.PhaseRunning, true, spec.True, spec.ReasonRunning), true, false},
		{"not ready yet", ready, object(spec.PhaseStarting, true, spec.False, spec.ReasonProbing), false, false},
		{"crashing", ready, object(spec.PhaseBackOff, true, spec.False, spec.ReasonBackOff), false, false},
		{"a one-shot that failed", ready, object(spec.PhaseFailed, true, spec.False, spec.ReasonFailed), false, true},
		{"a one-shot that is done", ready, object(spec.PhaseCompleted, true, spec.False, spec.ReasonCompleted), true, false},
		{"an invalid manifest", ready, object(spec.PhasePending, false, spec.False, spec.ReasonInvalid), false, true},
		{"an invalid manifest, the last good one runs on", ready, object(spec.PhaseRunning, true, spec.False, spec.ReasonInvalid), false, true},
		{"not there yet", ready, nil, false, false},
		{"gone", gone, nil, true, false},
		{"not gone", gone, object(spec.PhaseRunning, true, spec.True, spec.ReasonRunning), false, false},
		{"that it is not ready", unready, object(spec.PhasePending, false, spec.False, spec.ReasonInvalid), true, false},
		{"that it is not ready, and it is", unready, object(spec.PhaseRunning, true, spec.True, spec.ReasonRunning), false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			st := tt.a.judge(tt.o)
			if st.met != tt.met || st.hopeless != tt.hopeless || !st.met && st.why == "" {
				t.Errorf("%+v, want met: %v, hopeless: %v", st, tt.met, tt.hopeless)
			}
		})
	}
}
