package spec

import "strings"

// nearest finds the candidate that a mistyped word most likely meant: the same
// but for case, else the one with the fewest typing mistakes, of which at most
// one in three characters may be wrong. It gives "" where none is near.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", len(word)/3+1
	for _, c := range candidates {
		if strings.EqualFold(word, c) {
			return c
		}
		if d := distance(strings.ToLower(word), strings.ToLower(c), bestDistance); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance counts the insertions, deletions, substitutions and swaps of
// neighbours between a and b (the optimal string alignment distance). It may
// give any number from limit on once it is sure to be that far.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// didYouMean ends a message: with the suggestion, where there is one.
func didYouMean(word string, candidates []string) string {
	if s := nearest(word, candidates); s != "" {
		return ": did you mean " + s + "?"
	}
	return ""
}

// Nearest finds the candidate that a mistyped word most likely meant, or "": for
// words that are typed elsewhere than in a manifest.
func Nearest(word string, candidates []string) string { return nearest(word, candidates) }
