//go:build linux

package e2e

import (
	"context"
	"testing"
	"time"
)

// soon is how long a change may take on a busy machine. Waiting ends as soon as
// the condition holds, so it costs nothing where all is well.
const soon = 20 * time.Second

// tick is how often a condition is looked at.
const tick = 20 * time.Millisecond

// eventually waits until cond has no objection; after the limit the test fails
// with the last one.
func eventually(t testing.TB, limit time.Duration, what string, cond func() error) {
	t.Helper()
	err := within(t.Context(), limit, cond)
	if err != nil {
		t.Fatalf("%s: not within %v: %v", what, limit, err)
	}
}

// within is eventually for cleanups, where the test's context is done already.
func within(ctx context.Context, limit time.Duration, cond func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		err := cond()
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return err
		}
	}
}

// throughout fails the test if cond objects at any look during d. It is for
// what must not happen: a restart, a stop. A look that ends later than d, as one
// can on a busy machine, proves nothing.
func throughout(t testing.TB, d time.Duration, what string, cond func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for looks := 0; ; looks++ {
		if err := cond(); err != nil && (looks == 0 || ctx.Err() == nil) {
			t.Fatalf("%s: %v", what, err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
