package observe

import (
	"testing"
	"time"
)

func TestAllowedIsWhatWasMeant(t *testing.T) {
	t.Parallel()
	for left, want := range map[time.Duration]time.Duration{
		0:                        0,
		19900 * time.Microsecond: 20 * time.Millisecond,
		199 * time.Millisecond:   200 * time.Millisecond,
		985 * time.Millisecond:   time.Second,
		9900 * time.Millisecond:  10 * time.Second,
		75 * time.Second:         75 * time.Second,
	} {
		if got := meant(left); got != want {
			t.Errorf("%v: %v, not %v", left, got, want)
		}
	}
}
