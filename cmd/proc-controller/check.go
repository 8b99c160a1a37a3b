package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/proc-controller/proc-controller/spec"
)

// checker collects what is wrong with manifests.
type checker struct {
	std      streams
	home     string // what ~ means; empty if it is not known
	files    int
	objects  []spec.Located // the valid ones
	broken   []spec.Key     // of the others, as far as they have one
	findings []spec.Finding
	notes    []string // not wrong, but good to know
	// base is what relative paths count from where a manifest is checked elsewhere
	// than it will be; empty where it is checked in its place.
	base string
	// taken is told of each content that was read; nil for nobody.
	taken func(name string, data []byte, docs []spec.Document)
}

// maxManifest is more than a manifest may have: reading stops there, and the
// decoder finds it too large.
const maxManifest = 1<<20 + 1

// file checks one file.
func (c *checker) file(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot check %s: %v", path, cause(err))
	}
	defer f.Close()
	c.read(path, filepath.Dir(path), f)
	return nil
}

// read checks the documents that r holds. Relative paths in them count from dir.
func (c *checker) read(name, dir string, r io.Reader) {
	c.files++
	data, err := io.ReadAll(io.LimitReader(r, maxManifest))
	if err != nil {
		c.fail(name, "cannot read it: "+cause(err).Error())
		return
	}
	docs := spec.Decode(name, data)
	if c.taken != nil {
		c.taken(name, data, docs)
	}
	for _, d := range docs {
		if d.Skipped {
			for _, f := range d.Findings {
				c.notes = append(c.notes, fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message))
			}
			continue
		}
		c.findings = append(c.findings, d.Findings...)
		if d.Object != nil {
			c.objects = append(c.objects, spec.Located{Object: d.Object, File: d.File, Line: d.Line})
			c.environment(&d, cmp.Or(c.base, dir))
		} else if d.Key != (spec.Key{}) {
			c.broken = append(c.broken, d.Key)
		}
	}
}

func (c *checker) fail(file, message string) {
	c.findings = append(c.findings, spec.Finding{File: file, Message: message})
}

// failAt is a finding about a whole document.
func (c *checker) failAt(d *spec.Document, format string, args ...any) {
	c.findings = append(c.findings, spec.Finding{File: d.File, Line: d.Line, Message: fmt.Sprintf(format, args...)})
}

// environment reads the files that an object names and makes the environment of
// a child of it, to see whether that can be done.
func (c *checker) environment(d *spec.Document, dir string) {
	files, complete := map[string][]byte{}, true
	for _, f := range d.Object.FileSources() {
		content, err := c.envFile(f.Path, dir)
		switch {
		case err == nil:
			files[f.Path] = content
		case errors.Is(err, fs.ErrNotExist) && f.Optional:
		case errors.Is(err, fs.ErrNotExist):
			complete = false
			c.failAt(d, "%s does not exist: write it, or say optional: true", c.shown(f.Path))
		default:
			complete = false
			c.failAt(d, "cannot read %s: %v", c.shown(f.Path), cause(err))
		}
	}
	if !complete {
		return
	}
	if _, err := spec.Environ(d.Object, spec.EnvInputs{Files: files, Dir: dir}); err != nil {
		c.failAt(d, "%v", err)
	}
}

// shown is the path of a file that a manifest names, as it is written there, or
// whole where the manifest is not in its place yet.
func (c *checker) shown(path string) string {
	if c.base == "" {
		return path
	}
	if abs, err := spec.ResolvePath(path, c.base, c.home); err == nil {
		return abs
	}
	return path
}

// envFile reads a file that a manifest names. It never waits: a pipe is no file.
func (c *checker) envFile(path, dir string) ([]byte, error) {
	path, err := spec.ResolvePath(path, dir, c.home)
	if err != nil {
		return nil, err
	}
	fi, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !fi.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	case fi.Size() > maxManifest:
		return nil, errors.New("it has more than 1 MiB")
	}
	return os.ReadFile(path)
}

// sort puts the findings into the order of their places, and gives each a place,
// as editors want it.
func (c *checker) sort() {
	for i := range c.findings {
		c.findings[i].Line, c.findings[i].Column = max(1, c.findings[i].Line), max(1, c.findings[i].Column)
	}
	slices.SortStableFunc(c.findings, func(a, b spec.Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// together finds what is wrong only with all objects taken together.
func (c *checker) together() {
	for _, conflict := range spec.Conflicts(c.objects, c.broken...) {
		c.findings = append(c.findings, conflict.Finding)
	}
}

// cause gives what the system said, without the name of the call and the path.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
