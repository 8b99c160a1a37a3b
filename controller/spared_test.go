package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// What killMode Group spares is named, and does not stand in the way of the
// instance that runs.
func TestSparedIsNamed(t *testing.T) {
	groupOnly := func(s *spec.Spec) { s.KillMode = spec.KillGroup }
	left := endedInstance(files, "a", 1, t0.Add(-2*time.Second), process(2))
	w := world(wants(entry(files, "a", groupOnly)), runs(left, instance(files, "a", 5)))
	st := Report(w, Decide(w))[files]
	if st.PID != process(5).PID || st.Phase != spec.PhaseRunning || !st.Ready || len(st.Instances) != 2 {
		t.Errorf("pid %d, %s, ready %v, instances %+v", st.PID, st.Phase, st.Ready, st.Instances)
	}
	if !strings.Contains(st.Message, "pid 1002 (server)") {
		t.Errorf("message %q", st.Message)
	}
	if w.Observed.Instances[0] != left {
		t.Error("the world was changed by looking at it")
	}
}
