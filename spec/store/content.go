package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/edit"
	"github.com/proc-controller/proc-controller/spec/source"
)

// Content is what a manifest directory holds.
type Content struct {
	// Dir is the directory as it was given.
	Dir string
	// Files are those that a controller would read, sorted by name.
	Files []*File
	real  string // Dir without links
}

// File is one file of the directory.
type File struct {
	// Name is its name in the directory, Path the directory and the name.
	Name, Path string
	// Docs are its documents; none where it could not be read.
	Docs []edit.Document
	// Err is why it could not be read.
	Err error

	data    []byte
	info    fs.FileInfo // as it was read; nil of a new one
	changed bool
	removed bool
}

// Load reads a directory as a controller would. The error is a *DirError where
// the directory is not there or cannot be read; a file that cannot be has an
// error of its own.
func Load(dir string) (*Content, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, &DirError{"read", dir, err}
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return nil, &DirError{"read", dir, err}
	}
	c := &Content{Dir: dir, real: real}
	for _, e := range entries {
		if !source.IsManifest(e.Name()) {
			continue
		}
		f := &File{Name: e.Name(), Path: filepath.Join(dir, e.Name())}
		if f.read(filepath.Join(real, e.Name())); errors.Is(f.Err, fs.ErrNotExist) && e.Type()&fs.ModeSymlink == 0 {
			continue // removed meanwhile
		}
		c.Files = append(c.Files, f)
	}
	return c, nil
}

// read takes a file in. What is no file, such as a pipe, is not opened.
func (f *File) read(path string) {
	if f.info, f.Err = os.Stat(path); f.Err != nil {
		return
	}
	if !f.info.Mode().IsRegular() {
		f.Err = errors.New("it is not a file")
		return
	}
	r, err := os.Open(path)
	if err != nil {
		f.Err = err
		return
	}
	defer r.Close()
	if f.data, f.Err = io.ReadAll(io.LimitReader(r, spec.MaxFileSize+1)); f.Err == nil {
		f.Docs = edit.Read(f.Path, f.data)
	}
}

// Where gives the file and the document that hold a key, valid or not; nil where
// none does. It is an error where several do.
func (c *Content) Where(key spec.Key) (*File, *edit.Document, error) {
	var file *File
	var doc *edit.Document
	for _, f := range c.Files {
		for i := range f.Docs {
			d := &f.Docs[i]
			switch {
			case d.Key != key:
			case doc != nil:
				return nil, nil, fmt.Errorf("%v stands in %s:%d and in %s:%d: remove one of them first",
					key, doc.File, doc.Line, d.File, d.Line)
			default:
				file, doc = f, d
			}
		}
	}
	return file, doc, nil
}

// Keys are the keys of all documents that have one, valid or not, sorted.
func (c *Content) Keys() (keys []spec.Key) {
	for _, f := range c.Files {
		for i := range f.Docs {
			if k := f.Docs[i].Key; k != (spec.Key{}) {
				keys = append(keys, k)
			}
		}
	}
	slices.SortFunc(keys, spec.Key.Compare)
	return slices.Compact(keys)
}

// Unclear says why it cannot be told whether a key that no document has is there
// all the same: a file that cannot be read, or a document that is not understood
// and in which the name occurs. It is nil where nothing speaks for that.
func (c *Content) Unclear(key spec.Key) error {
	for _, f := range c.Files {
		if f.Err != nil && !f.removed {
			return fmt.Errorf("cannot tell whether %s holds %v: %v; mend or remove it first", f.Path, key, cause(f.Err))
		}
		for i := range f.Docs {
			d := &f.Docs[i]
			if d.Broken() && d.Key == (spec.Key{}) && d.Mentions(key.Name) {
				m := d.Findings[0]
				return fmt.Errorf("cannot tell whether %s:%d:%d holds %v: %s; mend it first", d.File, m.Line, m.Column, key, m.Message)
			}
		}
	}
	return nil
}

// free says that a file of that name may be made.
func (c *Content) free(name string) bool {
	if slices.ContainsFunc(c.Files, func(f *File) bool { return strings.EqualFold(f.Name, name) }) {
		return false
	}
	_, err := os.Lstat(filepath.Join(c.real, name))
	return errors.Is(err, fs.ErrNotExist)
}
