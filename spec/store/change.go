package store

import (
	"bytes"
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
	if err := c.settle(); err != nil {
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
	return c.try(do)
}

// TryMissing is Try of a directory that is not there, as if it were and held
// nothing.
func TryMissing(_ context.Context, dir string, do func(*Content) error) error {
	return None(dir).try(do)
}

func (c *Content) try(do func(*Content) error) error {
	if err := do(c); err != nil {
		return err
	}
	return c.settle()
}

// settle finds out what each file that was changed has become.
func (c *Content) settle() (err error) {
	for _, f := range c.Files {
		if f.text == nil || f.info != nil && !f.text.Edited() {
			continue
		}
		if f.result, err = f.text.Result(); err != nil {
			return err
		}
		gone := len(f.text.Docs) == 0
		f.removed = gone && f.info != nil
		f.changed = f.removed || !gone && (f.info == nil || !bytes.Equal(f.result, f.data))
	}
	return nil
}

// Put puts a document in: in the place of the one with its key, where there is
// one, else into a file that is named after kind and name. It gives that file, and
// says whether its content has changed.
func (c *Content) Put(d *edit.Document) (f *File, changed bool, err error) {
	f, _, err = c.Where(d.Key)
	if err != nil {
		return nil, false, err
	}
	if f != nil {
		changed, err = f.text.Replace(d)
		return f, changed, err
	}
	name := FileName(d.Key, filepath.Ext(d.File))
	if f = c.file(name); f == nil {
		if f, err = c.add(name); err != nil {
			return nil, false, err
		}
	}
	if f.Err != nil {
		return nil, false, fmt.Errorf("cannot write %v into %s: %w", d.Key, f.Path, cause(f.Err))
	}
	if err := f.text.Append(d); err != nil {
		return nil, false, err
	}
	c.holds(f, d.Key)
	return f, true, nil
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
	f.text = edit.Open(f.Path, data)
	for _, d := range f.text.Docs {
		c.holds(f, d.Key)
	}
	return f
}

// Remove takes the document with a key out, with its file where it was the only
// one, from every file that has it. It says whether there was one.
func (c *Content) Remove(key spec.Key) (found bool, err error) {
	files := c.at[key]
	for _, f := range files {
		if err := f.text.Remove(key); err != nil {
			return false, err
		}
	}
	delete(c.at, key)
	return len(files) > 0, nil
}

// Set sets a field of the object with a key, and Reset takes it out: see package
// edit. They give the file, and say whether its content has changed.
func (c *Content) Set(key spec.Key, path []string, value any) (*File, bool, error) {
	return c.field(key, func(f *edit.File) (bool, error) { return f.Set(key, path, value) })
}

// Reset takes a field of the object with a key out, so that it has its default.
func (c *Content) Reset(key spec.Key, path []string, value any) (*File, bool, error) {
	return c.field(key, func(f *edit.File) (bool, error) { return f.Reset(key, path, value) })
}

func (c *Content) field(key spec.Key, how func(*edit.File) (bool, error)) (*File, bool, error) {
	f, _, err := c.Where(key)
	if err != nil {
		return nil, false, err
	}
	if f == nil {
		return nil, false, fmt.Errorf("no manifest in %s defines %v", c.Dir, key)
	}
	changed, err := how(f.text)
	if err != nil {
		return nil, false, err
	}
	return f, changed, nil
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
	if f := c.named[strings.ToLower(name)]; f != nil && f.Name == name {
		return f
	}
	return nil
}

// add enters a file that is not there yet.
func (c *Content) add(name string) (*File, error) {
	f := &File{Name: name, Path: filepath.Join(c.Dir, name)}
	if !c.free(name) {
		return nil, fmt.Errorf("cannot write %s: something else has that name", f.Path)
	}
	f.text = edit.New(f.Path)
	i, _ := slices.BinarySearchFunc(c.Files, f, func(a, b *File) int { return cmp.Compare(a.Name, b.Name) })
	c.Files = slices.Insert(c.Files, i, f)
	c.named[strings.ToLower(name)] = f
	return f, nil
}
