package main

import "strings"

// didYouMean gives " (did you mean X?)" where one of the candidates is what a
// mistyped word most likely meant, else "".
func didYouMean(word string, candidates []string) string {
	if s := nearest(word, candidates); s != "" {
		return " (did you mean " + s + "?)"
	}
	return ""
}

// nearest finds the candidate with the fewest typing mistakes, of which one in
// three characters may be wrong; at equal numbers the first.
func nearest(word string, candidates []string) string {
	best, fewest := "", len(word)/3+1
	for _, c := range candidates {
		if d := typos(strings.ToLower(word), strings.ToLower(c)); d < fewest {
			best, fewest = c, d
		}
	}
	return best
}

// typos counts the characters to insert, to leave out, to replace or to swap
// with their neighbour that lead from a to b.
func typos(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
