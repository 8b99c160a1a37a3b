package controller

import (
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// The bounds of the output act on what runs: an edit of them is handed on, and
// restarts nothing.
func TestBoundsOfOutputAreHandedOn(t *testing.T) {
	faults := within(t, 1, func(m *machine, _ *Controller) {
		edited := entry(files, "a")
		edited.Object.Spec.Logs = spec.Logs{MaxBytes: "1Mi", Keep: new(int32(1))}
		for _, tc := range []struct {
			entry *spec.Entry
			want  spec.LogBounds
		}{
			{entry(files, "a"), spec.DefaultLogBounds},
			{edited, spec.LogBounds{MaxBytes: 1 << 20, Keep: 1}},
		} {
			m.publish(setOf(tc.entry))
			wait(time.Minute)
			m.mu.Lock()
			if got := m.bounds[files]; got != tc.want || m.mains(files) != 1 {
				m.fault("bounds %+v, want %+v; %d run", got, tc.want, m.mains(files))
			}
			if len(m.did) > 1 {
				m.fault("an edit of the bounds did %q", m.did)
			}
			m.mu.Unlock()
		}
	})
	for _, f := range faults {
		t.Error(f)
	}
}
