package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/edit"
	"github.com/proc-controller/proc-controller/spec/store"
)

// given are the manifests that a verb was handed with -f, checked as validate
// checks them.
type given struct {
	checker
	files []givenFile
}

// givenFile is one file, or standard input.
type givenFile struct {
	// name is that of the file alone, under which it can be put into the
	// directory of the manifests; empty for standard input.
	name string
	data []byte
	docs []edit.Document
}

// addFileFlag adds -f, which may be repeated.
func addFileFlag(cmd *cobra.Command, files *[]string, what string) {
	cmd.Flags().StringArrayVarP(files, "filename", "f", nil, what+": a `PATH` of a file or a directory, or - for standard input; may be repeated")
}

// readGiven reads and checks manifests that are, or will be, in the directory of
// p: that is where their relative paths count from. Findings go to stderr.
func readGiven(std streams, p place, paths []string) (*given, error) {
	g := &given{checker: checker{std: streams{in: std.in, out: std.err, err: std.err}, home: os.Getenv("HOME"), base: p.manifests}}
	g.taken = func(name string, data []byte, docs []spec.Document) {
		f := givenFile{data: data, docs: edit.Documents(docs, data)}
		if name != stdinName {
			f.name = filepath.Base(name)
		}
		g.files = append(g.files, f)
	}
	for i, path := range paths {
		if path == "-" && slices.Contains(paths[:i], path) {
			return nil, errors.New("cannot read standard input twice: write -f - once")
		}
		if err := g.path(path); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// documents are those with an object, in the order in which they were given.
func (g *given) documents() (docs []edit.Document) {
	for _, f := range g.files {
		for _, d := range f.docs {
			if d.Object != nil {
				docs = append(docs, d)
			}
		}
	}
	return docs
}

// keys are those of all documents that have one, valid or not, each once.
func (g *given) keys() (keys []spec.Key) {
	seen := map[spec.Key]bool{{}: true}
	for _, f := range g.files {
		for i := range f.docs {
			if k := f.docs[i].Key; !seen[k] {
				seen[k] = true
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// beside checks what was given together with what is in the directory already, as
// far as it is not replaced: names and fixed ports that both have, and what one
// needs of the other. Only what concerns the given ones is a finding.
func (g *given) beside(c *store.Content) {
	given := map[spec.Key]bool{}
	for _, k := range g.keys() {
		given[k] = true
	}
	all, broken := slices.Clone(g.objects), slices.Clone(g.broken)
	for _, f := range c.Files {
		for _, d := range f.Docs() {
			switch {
			case given[d.Key]:
			case d.Object != nil:
				all = append(all, spec.Located{Object: d.Object, File: d.File, Line: d.Line})
			case d.Key != (spec.Key{}):
				broken = append(broken, d.Key)
			}
		}
	}
	for _, conflict := range spec.Conflicts(all, broken...) {
		if given[conflict.Key] {
			g.findings = append(g.findings, conflict.Finding)
		}
	}
}

// refuse ends a verb that changes something where anything is wrong.
func (g *given) refuse() error {
	err := g.mistakes()
	if err != nil {
		fmt.Fprintln(g.std.err, "Nothing was changed.")
	}
	return err
}

// mistakes tells what is wrong, and ends the verb with that; nil where all is well.
// Notes are told where it is, once.
func (g *given) mistakes() error {
	if len(g.findings) == 0 {
		for _, n := range g.notes {
			fmt.Fprintf(g.std.err, "note: %s\n", oneLine(n))
		}
		g.notes = nil
		return nil
	}
	g.sort()
	g.tell()
	return errSaid
}

// unmade says that the directory of the manifests is the default one, and missing.
func (p place) unmade() bool {
	_, err := os.Lstat(p.manifests)
	return p.byDefault && errors.Is(err, os.ErrNotExist)
}

// prepare makes the default directory of the manifests where it is missing.
func (p place) prepare() error {
	if !p.unmade() {
		return nil
	}
	if err := os.MkdirAll(p.manifests, 0o700); err != nil {
		return fmt.Errorf("cannot make the directory of the manifests: %w", err)
	}
	return nil
}
