//go:build linux

package main

import (
	"math"
	"slices"
	"testing"
)

func TestSamples(t *testing.T) {
	hundred := make(Samples, 100)
	for i := range hundred {
		hundred[i] = float64((i*37)%100 + 1) // 1 to 100, out of order
	}
	for _, c := range []struct {
		name        string
		samples     Samples
		median, p95 float64
	}{
		{"one", Samples{7}, 7, 7},
		{"odd", Samples{9, 1, 5}, 5, 9},
		{"even", Samples{4, 1, 3, 2}, 2.5, 4},
		{"twenty", append(slices.Repeat(Samples{1}, 19), 50), 1, 1},
		{"nineteen", append(slices.Repeat(Samples{1}, 18), 50), 1, 50},
		{"hundred", hundred, 50.5, 95},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := slices.Clone(c.samples)
			if got := c.samples.Median(); got != c.median {
				t.Errorf("Median() = %v, want %v", got, c.median)
			}
			if got := c.samples.P95(); got != c.p95 {
				t.Errorf("P95() = %v, want %v", got, c.p95)
			}
			if !slices.Equal(before, c.samples) {
				t.Error("the samples were reordered")
			}
		})
	}
}

func TestNoSamples(t *testing.T) {
	if m, p := Samples(nil).Median(), Samples(nil).P95(); !math.IsNaN(m) || !math.IsNaN(p) {
		t.Errorf("Median, P95 of nothing = %v, %v, want NaN", m, p)
	}
}
