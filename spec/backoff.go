package spec

import (
	"math"
	"time"
)

// Delay is how long a start waits after the given number of crashes in a row:
// initial × factor^(crashes-1), at most max, and nothing without a crash. It takes
// b to be valid; of an initial pause of zero no factor makes more.
func (b Backoff) Delay(crashes int) time.Duration {
	if crashes <= 0 || b.Initial <= 0 {
		return 0
	}
	d := float64(b.Initial) * math.Pow(b.Factor, float64(crashes-1))
	if !(d < float64(b.Max)) { // also when d is infinite
		return time.Duration(b.Max)
	}
	return time.Duration(d)
}
