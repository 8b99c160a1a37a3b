package store

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/edit"
	"github.com/proc-controller/proc-controller/spec/source"
)

// Change locks a directory, reads it, and lets do change it. Where do gives no
// error all that it has changed is written, file by file; else nothing is. It
// waits at most a few seconds for another change that is under way.
func Change(ctx context.Context, dir string, do func(*Content) error) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return &DirError{"change", dir, err}
	}
	unlock, err := lock(ctx, real)
	if err != nil {
		return &DirError{"write into", dir, err}
	}
	defer unlock()
	c, err := Load(dir)
	if err != nil {
		return err
	}
	if err := do(c); err != nil {
		return err
	}
	return c.commit()
}

// Try is Change that locks nothing and writes nothing.
func Try(_ context.Context, dir string, do func(*Content) error) error {
	c, err := Load(dir)
	if err != nil {
		return err
	}
	return do(c)
}

// Put puts a document in: in the place of the one with its key, where there is
// one, else into a file that is named after kind and name. It gives that file, and
// says whether its content has changed.
func (c *Content) Put(d edit.Document) (f *File, changed bool, err error) {
	f, _, err = c.Where(d.Key)
	switch {
	case err != nil:
		return nil, false, err
	case f != nil:
		data, err := edit.Replace(f.Path, f.data, d)
		if err != nil {
			return nil, false, err
		}
		return f, f.put(data), nil
	}
	name := FileName(d.Key, filepath.Ext(d.File))
	f = c.file(name)
	if f == nil {
		if f, err = c.add(name); err != nil {
			return nil, false, err
		}
	}
	if f.Err != nil {
		return nil, false, fmt.Errorf("cannot write %v into %s: %w", d.Key, f.Path, cause(f.Err))
	}
	data, err := edit.Append(f.Path, f.data, d)
	if err != nil {
		return nil, false, err
	}
	return f, f.put(data), nil
}

// PutFile puts a whole file in, as it is. It gives nil where there is a file of
// that name, or the source would not read it.
func (c *Content) PutFile(name string, data []byte) *File {
	if !source.IsManifest(name) || !c.free(name) {
		return nil
	}
	f, err := c.add(name)
	if err != nil {
		return nil
	}
	f.put(data)
	return f
}

// Remove takes the document with a key out, with its file where it was the only
// one, from every file that has it. It says whether there was one.
func (c *Content) Remove(key spec.Key) (found bool, err error) {
	for _, f := range c.Files {
		has := func(d edit.Document) bool { return d.Key == key }
		for slices.ContainsFunc(f.Docs, has) {
			data, err := edit.Remove(f.Path, f.data, key)
			if err != nil {
				return false, err
			}
			found = true
			if data == nil {
				f.data, f.Docs, f.changed, f.removed = nil, nil, true, true
			} else {
				f.put(data)
			}
		}
	}
	return found, nil
}

// Set sets a field of the object with a key, and Reset takes it out: see package
// edit. They give the file, and say whether its content has changed.
func (c *Content) Set(key spec.Key, path []string, value any) (*File, bool, error) {
	return c.field(key, path, value, edit.Set)
}

// Reset takes a field of the object with a key out, so that it has its default.
func (c *Content) Reset(key spec.Key, path []string, value any) (*File, bool, error) {
	return c.field(key, path, value, edit.Reset)
}

func (c *Content) field(key spec.Key, path []string, value any, how func(string, []byte, spec.Key, []string, any) ([]byte, error)) (*File, bool, error) {
	f, _, err := c.Where(key)
	if err != nil {
		return nil, false, err
	}
	if f == nil {
		return nil, false, fmt.Errorf("no manifest in %s defines %v", c.Dir, key)
	}
	data, err := how(f.Path, f.data, key, path, value)
	if err != nil {
		return nil, false, err
	}
	return f, f.put(data), nil
}

// FileName is the file that a new object is put into: mcpserver-files.yaml, or
// with .json.
func FileName(key spec.Key, ext string) string {
	if ext != ".json" {
		ext = ".yaml"
	}
	return strings.ToLower(string(key.Kind)) + "-" + key.Name + ext
}

// file gives the file of a name, or nil. One that is to be removed may be filled
// again.
func (c *Content) file(name string) *File {
	for _, f := range c.Files {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// add enters a file that is not there yet.
func (c *Content) add(name string) (*File, error) {
	f := &File{Name: name, Path: filepath.Join(c.Dir, name)}
	if !c.free(name) {
		return nil, fmt.Errorf("cannot write %s: something else has that name", f.Path)
	}
	c.Files = append(c.Files, f)
	slices.SortFunc(c.Files, func(a, b *File) int { return cmp.Compare(a.Name, b.Name) })
	return f, nil
}

// put gives a file another content, and says whether it is one.
func (f *File) put(data []byte) bool {
	if f.info != nil && string(data) == string(f.data) {
		return false
	}
	f.data, f.changed, f.removed = data, true, false
	f.Docs = edit.Read(f.Path, data)
	return true
}
