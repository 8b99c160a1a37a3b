package main

import "github.com/proc-controller/proc-controller/spec"

// didYouMean gives " (did you mean X?)" where one of the candidates is what a
// mistyped word most likely meant, else "".
func didYouMean(word string, candidates []string) string {
	if s := spec.Nearest(word, candidates); s != "" {
		return " (did you mean " + s + "?)"
	}
	return ""
}
