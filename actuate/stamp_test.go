//go:build linux

package actuate

import (
	"slices"
	"testing"

	"github.com/proc-controller/proc-controller/spec"
)

// A launch whose stamp took so long that the clock moved on is stamped again,
// but not for ever.
func TestStampIsRenewed(t *testing.T) {
	for name, tt := range map[string]struct {
		clock []uint64 // what each look shows; the last again and again, a tick later
		want  []uint64
	}{
		"at once":             {[]uint64{7, 7}, []uint64{7}},
		"preempted":           {[]uint64{7, 30, 30, 30}, []uint64{7, 30}},
		"preempted each time": {[]uint64{1}, []uint64{1, 3, 5, 7, 9}},
	} {
		var stamped []uint64
		looks := 0
		clock := func() uint64 {
			looks++
			if looks <= len(tt.clock) {
				return tt.clock[looks-1]
			}
			return tt.clock[len(tt.clock)-1] + uint64(looks-len(tt.clock))
		}
		l := &launch{stamp: func(_ *launch, tick uint64) error { stamped = append(stamped, tick); return nil }}
		if err := l.complete(clock); err != nil || !slices.Equal(stamped, tt.want) {
			t.Errorf("%s: %v, stamped %v, want %v", name, err, stamped, tt.want)
		}
	}
}

// A fence that is named again leaves nothing of its first name, and the start
// bears the last one throughout.
func TestLastStampCounts(t *testing.T) {
	a := newActuator(t)
	s := &start{Actuator: a, entry: entry(t, "sleep", "100"), token: newToken(), child: child{fd: -1}}
	defer s.close()
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	l := s.launch()
	for _, tick := range []uint64{5, 9} {
		if err := s.stamp(l, tick); err != nil {
			t.Fatal(err)
		}
	}
	id := spec.NewInstance(s.token, 9)
	if s.markers.Instance != id || !slices.Contains(l.env, spec.EnvInstance+"="+string(id)) {
		t.Errorf("instance %s, environment %q", s.markers.Instance, l.env)
	}
	s.undo()
}
