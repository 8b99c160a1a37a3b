package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/edit"
	"github.com/proc-controller/proc-controller/spec/source"
)

// Content is what a manifest directory holds. What is asked of one key, or done
// to it, costs the same however many others there are.
type Content struct {
	// Dir is the directory as it was given.
	Dir string
	// Files are those that a controller would read, sorted by name.
	Files []*File
	real  string // Dir without links
	// at are the files that hold a key, in their order, and named all of them by
	// their name in small letters: not every file system tells letters apart.
	at     map[spec.Key][]*File
	named  map[string]*File
	doubts []doubt
}

// File is one file of the directory.
type File struct {
	// Name is its name in the directory, Path the directory and the name.
	Name, Path string
	// Err is why it could not be read.
	Err error

	data []byte
	info fs.FileInfo // as it was read; nil of a new one
	text *edit.File  // nil where it could not be read

	// What it has become, once that is settled: other than it was, or gone.
	result           []byte
	changed, removed bool
}

// Docs are the documents of the file; none where it could not be read.
func (f *File) Docs() []*edit.Document {
	if f.text == nil {
		return nil
	}
	return f.text.Docs
}

// doubt is what may hold an object without being understood: a file that cannot be
// read, or else a document.
type doubt struct {
	file *File
	doc  *edit.Document
}

// None is the content of a directory that is not there yet.
func None(dir string) *Content {
	return &Content{Dir: dir, real: dir, at: map[spec.Key][]*File{}, named: map[string]*File{}}
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
	c := None(dir)
	c.real = real
	for _, e := range entries {
		if !source.IsManifest(e.Name()) {
			continue
		}
		f := &File{Name: e.Name(), Path: filepath.Join(dir, e.Name())}
		if f.read(filepath.Join(real, e.Name())); errors.Is(f.Err, fs.ErrNotExist) && e.Type()&fs.ModeSymlink == 0 {
			continue // removed meanwhile
		}
		c.enter(f)
	}
	return c, nil
}

// enter takes a file in that was read, behind the others.
func (c *Content) enter(f *File) {
	c.Files = append(c.Files, f)
	c.named[strings.ToLower(f.Name)] = f
	if f.Err != nil {
		c.doubts = append(c.doubts, doubt{file: f})
	}
	for _, d := range f.Docs() {
		c.holds(f, d.Key)
		if d.Broken() && d.Key == (spec.Key{}) {
			c.doubts = append(c.doubts, doubt{f, d})
		}
	}
}

// holds says that a file has a document with a key, if it is one.
func (c *Content) holds(f *File, key spec.Key) {
	files := c.at[key]
	if key != (spec.Key{}) && (len(files) == 0 || files[len(files)-1] != f) {
		c.at[key] = append(files, f)
	}
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
		f.text = edit.Open(f.Path, f.data)
	}
}

// Where gives the file and the document that hold a key, valid or not; nil where
// none does. It is an error where several do.
func (c *Content) Where(key spec.Key) (*File, *edit.Document, error) {
	var file *File
	var doc *edit.Document
	for _, f := range c.at[key] {
		for _, d := range f.text.With(key) {
			if doc != nil {
				return nil, nil, fmt.Errorf("%v stands in %s:%d and in %s:%d: remove one of them first",
					key, doc.File, doc.Line, d.File, d.Line)
			}
			file, doc = f, d
		}
	}
	return file, doc, nil
}

// Has says that a document has that key, valid or not.
func (c *Content) Has(key spec.Key) bool { return len(c.at[key]) > 0 }

// Keys are the keys of all documents that have one, valid or not, sorted.
func (c *Content) Keys() []spec.Key { return slices.SortedFunc(maps.Keys(c.at), spec.Key.Compare) }

// Unclear says why it cannot be told whether a key that no document has is there
// all the same: a file that cannot be read, or a document that is not understood
// and in which the name occurs. It is nil where nothing speaks for that.
func (c *Content) Unclear(key spec.Key) error {
	for _, u := range c.doubts {
		switch {
		case u.doc == nil:
			return fmt.Errorf("cannot tell whether %s holds %v: %v; mend or remove it first", u.file.Path, key, cause(u.file.Err))
		case u.doc.Mentions(key.Name):
			m := u.doc.Findings[0]
			return fmt.Errorf("cannot tell whether %s:%d:%d holds %v: %s; mend it first", u.doc.File, m.Line, m.Column, key, m.Message)
		}
	}
	return nil
}

// free says that a file of that name may be made.
func (c *Content) free(name string) bool {
	if c.named[strings.ToLower(name)] != nil {
		return false
	}
	_, err := os.Lstat(filepath.Join(c.real, name))
	return errors.Is(err, fs.ErrNotExist)
}
