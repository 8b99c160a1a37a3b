package bridge

import (
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
	return max(b.Delay(before), leastPause)
}
