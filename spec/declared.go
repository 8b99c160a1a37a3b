package spec

import (
	"reflect"
	"slices"
)

// NeedsRestart says of a field of Spec, by its name in a manifest, that a change
// of it restarts what runs. What is in the files that a field names counts as the
// field.
func NeedsRestart(field string) bool { return slices.Contains(restarts, field) }

// ChoicesOf gives the words that a type may have in a manifest, in order; nil for
// a type that is no choice of words.
func ChoicesOf(t reflect.Type) []string { return slices.Clone(choices[t]) }
