package observe

import (
	"context"
	"time"
)

// Allowed gives how long ctx lasts from now on, rounded to what was meant: for a
// failure that says within what time nothing came. It is 0 where ctx has no
// deadline.
func Allowed(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return meant(time.Until(deadline))
}

// meant rounds to two digits, and from five seconds on to whole ones.
func meant(left time.Duration) time.Duration {
	unit := time.Millisecond
	for unit < time.Second && left >= 50*unit {
		unit *= 10
	}
	return left.Round(unit)
}
