package scope

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestProbesAreSharedByThoseWhoAskedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared sharedProbes
		var mu sync.Mutex
		var began []time.Time
		probe := func(context.Context) ([]string, string) {
			mu.Lock()
			began = append(began, time.Now())
			mu.Unlock()
			<-time.After(10 * time.Millisecond)
			return []string{"yes"}, ""
		}
		var asking sync.WaitGroup
		for range 100 {
			asking.Go(func() {
				asked := time.Now()
				options, why := shared.ask(t.Context(), "same", probe)
				if len(options) != 1 || why != "" {
					t.Errorf("answer %v, %q", options, why)
				}
				mu.Lock()
				defer mu.Unlock()
				if last := began[len(began)-1]; last.Before(asked) {
					t.Errorf("a probe that began at %v answered a question of %v", last, asked)
				}
			})
		}
		asking.Wait()
		if len(began) != 2 {
			t.Errorf("%d probes for a hundred equal questions, want 2", len(began))
		}
		if len(shared.lines) != 0 {
			t.Errorf("%d questions are still waited for", len(shared.lines))
		}
	})
}

func TestProbesOfOtherQuestionsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared sharedProbes
		slow := func(ctx context.Context) ([]string, string) { <-ctx.Done(); return nil, tooSlow }
		quick := func(context.Context) ([]string, string) { return nil, "" }
		ctx, cancel := context.WithTimeout(t.Context(), probeWithin)
		defer cancel()
		var asking sync.WaitGroup
		for range 3 { // the second waits for its turn in vain, the third for the second
			asking.Go(func() {
				if _, why := shared.ask(ctx, "slow", slow); why != tooSlow {
					t.Errorf("a hanging manager gave %q", why)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		if _, why := shared.ask(t.Context(), "quick", quick); why != "" || time.Since(began) != 0 {
			t.Errorf("another question waited %v: %q", time.Since(began), why)
		}
		asking.Wait()
		if took := time.Since(began); took != probeWithin {
			t.Errorf("three questions to a hanging manager took %v, want %v", took, probeWithin)
		}
		if _, why := shared.ask(t.Context(), "slow", quick); why != "" {
			t.Errorf("the next question was not asked anew: %q", why)
		}
	})
}
