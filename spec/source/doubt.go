package source

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/proc-controller/proc-controller/spec"
)

const (
	// maxName is the length of a DNS label (RFC 1123).
	maxName = 63
	// maxWords bounds the names that one broken file protects singly; with
	// more of them it protects every key.
	maxWords = 4096
)

// doubtOf is what a file that was not understood stands against: the deletion
// of the keys that it last held, and of each whose name is a word in it.
func doubtOf(path string, data []byte, first spec.Finding, held map[spec.Key]*spec.Entry) *spec.Doubt {
	d := &spec.Doubt{File: path, Reason: first.Reason, Message: first.Message}
	words, ok := labels(data)
	if !ok {
		d.All = true
		return d
	}
	for k := range held {
		words[k.Name] = struct{}{}
	}
	d.Names = slices.Sorted(maps.Keys(words))
	return d
}

func sameDoubt(a, b *spec.Doubt) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.File == b.File && a.Reason == b.Reason && a.Message == b.Message &&
		a.All == b.All && slices.Equal(a.Names, b.Names)
}

// labels finds every word that could be the name of a workload: lower-case
// letters, digits and inner dashes. It gives up, with false, on what is no
// text (a name would not show in UTF-16) and on too many words.
func labels(data []byte) (map[string]struct{}, bool) {
	if len(data) > spec.MaxFileSize || !utf8.Valid(data) || slices.Contains(data, 0) {
		return nil, false
	}
	words := make(map[string]struct{})
	for start := 0; start < len(data); {
		end := start
		for end < len(data) && wordByte(data[end]) {
			end++
		}
		if word := trimDashes(data[start:end]); label(word) {
			if _, known := words[string(word)]; !known {
				words[string(word)] = struct{}{}
			}
		}
		if len(words) > maxWords {
			return nil, false
		}
		start = end + 1
	}
	return words, true
}

func wordByte(c byte) bool {
	return c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func trimDashes(word []byte) []byte {
	for len(word) > 0 && word[0] == '-' {
		word = word[1:]
	}
	for len(word) > 0 && word[len(word)-1] == '-' {
		word = word[:len(word)-1]
	}
	return word
}

func label(word []byte) bool {
	if len(word) == 0 || len(word) > maxName {
		return false
	}
	return !slices.ContainsFunc(word, func(c byte) bool { return 'A' <= c && c <= 'Z' })
}
