package spec

import (
	"testing"
	"time"
)

func TestBackoffDelay(t *testing.T) {
	usual := Backoff{Initial: Duration(time.Second), Max: Duration(5 * time.Minute), Factor: 2}
	for _, tt := range []struct {
		b       Backoff
		crashes int
		want    time.Duration
	}{
		{usual, -1, 0},
		{usual, 0, 0},
		{usual, 1, time.Second},
		{usual, 2, 2 * time.Second},
		{usual, 9, 256 * time.Second},
		{usual, 10, 5 * time.Minute},
		{usual, 5000, 5 * time.Minute}, // the power is infinite
		{Backoff{Initial: Duration(time.Hour), Max: Duration(time.Hour), Factor: 1}, 7, time.Hour},
		{Backoff{Initial: Duration(time.Second), Max: Duration(time.Minute), Factor: 1.5}, 3, 2250 * time.Millisecond},
		{Backoff{Max: Duration(time.Minute), Factor: 2}, 5000, 0},
		{Backoff{Initial: 1, Max: Duration(1<<63 - 1), Factor: 10}, 5000, 1<<63 - 1},
		{Backoff{}, 3, 0},
	} {
		if got := tt.b.Delay(tt.crashes); got != tt.want {
			t.Errorf("%+v after %d crashes: %v, want %v", tt.b, tt.crashes, got, tt.want)
		}
	}
}
