package main

import (
	"bytes"
	"strings"
	"testing"
)

// A command line that begins with a verb gets that one, by the name that it has.
func TestVerbsStandUnderTheirNames(t *testing.T) {
	std := streams{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &bytes.Buffer{}}
	for _, v := range verbs {
		made := newRoot(std, []string{v.name}).Commands()
		if len(made) != 1 || made[0].Name() != v.name {
			t.Errorf("%s: %v", v.name, made)
		}
	}
	for _, args := range [][]string{nil, {"--help"}, {"help", "get"}, {"--owner", "x", "get"}, {"gte"}, {"__complete", "ge"}} {
		if made := newRoot(std, args).Commands(); len(made) != len(verbs) {
			t.Errorf("%v: %d commands, want all %d", args, len(made), len(verbs))
		}
	}
}
