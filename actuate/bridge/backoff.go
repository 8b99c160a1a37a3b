package bridge

import (
	"math"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// leastPause keeps a server that ends at once from being started in a busy loop,
// whatever the back-off is.
const leastPause = 100 * time.Millisecond

// delay gives the pause before a start, after so many ends that count: none after the
// first one.
func delay(b spec.Backoff, before int) time.Duration {
	if before == 0 {
		return 0
	}
	pause := float64(b.Initial) * math.Pow(max(b.Factor, 1), float64(before-1))
	if b.Max > 0 {
		pause = min(pause, float64(b.Max))
	}
	return max(time.Duration(min(pause, float64(math.MaxInt64/2))), leastPause)
}
