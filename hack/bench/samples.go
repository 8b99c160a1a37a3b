//go:build linux

package main

import (
	"math"
	"slices"
)

// Samples are measurements of one figure, in the figure's unit.
type Samples []float64

// Median is the middle sample, or the mean of the two in the middle. Without
// samples it is NaN.
func (s Samples) Median() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// P95 is the smallest sample that at least 95 in 100 do not exceed (the nearest
// rank). Without samples it is NaN.
func (s Samples) P95() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	rank := (95*len(sorted) + 99) / 100
	return sorted[rank-1]
}
