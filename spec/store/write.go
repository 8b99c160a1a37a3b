package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// commit writes what was changed. What can be told to fail is found out before
// the first file is written.
func (c *Content) commit() error {
	targets := map[*File]string{}
	for _, f := range c.Files {
		if !f.changed {
			continue
		}
		target, err := c.target(f)
		if err != nil {
			return err
		}
		targets[f] = target
	}
	dirs := map[string]bool{}
	for _, f := range c.Files {
		target, ok := targets[f]
		if !ok {
			continue
		}
		if err := f.commit(target); err != nil {
			_ = syncDirs(dirs) // what went wrong first is told
			return fmt.Errorf("cannot write %s: %w", f.Path, cause(err))
		}
		dirs[filepath.Dir(target)] = true
	}
	return syncDirs(dirs)
}

// target is the path that a file is written to: where it is a link, what that
// leads to, within the directory. What is removed is the link.
func (c *Content) target(f *File) (string, error) {
	path := filepath.Join(c.real, f.Name)
	if f.info == nil || f.removed {
		return path, f.unchanged(path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("cannot write %s: %w", f.Path, cause(err))
	}
	if rel, err := filepath.Rel(c.real, real); err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("cannot write %s: it is a link to %s, which lies outside of the directory: change that file", f.Path, real)
	}
	if err := Changeable(real, f.info); err != nil {
		return "", fmt.Errorf("cannot write %s: %w", f.Path, err)
	}
	return real, f.unchanged(real)
}

// unchanged fails where somebody else has changed the file since it was read, who
// does not know of the lock: an editor.
func (f *File) unchanged(path string) error {
	now, err := os.Stat(path)
	switch {
	case f.info == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case f.info == nil, err != nil, !os.SameFile(now, f.info), !now.ModTime().Equal(f.info.ModTime()), now.Size() != f.info.Size():
		return fmt.Errorf("cannot write %s: somebody else is changing it: try again", f.Path)
	}
	return nil
}

// commit writes or removes one file.
func (f *File) commit(target string) error {
	if f.removed {
		return os.Remove(target)
	}
	return writeFile(target, f.result, f.info, newMode)
}

// newMode is that of a new file, less the umask: what others may write is not
// read.
const newMode = 0o644

// writeFile puts a content at a path, whole; syncDirs makes it last. Mode and owner are those of the
// former file, if there is one.
func writeFile(path string, data []byte, former fs.FileInfo, mode fs.FileMode) (err error) {
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text())
	w, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp) // what went wrong is told already
		}
	}()
	_, err = w.Write(data)
	if err == nil && former != nil {
		err = resemble(w, former)
	}
	if err == nil {
		err = w.Sync()
	}
	if closed := w.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	return err
}

// syncDirs brings what was renamed and removed to the disk, once for all of it and
// not once a file. A file system that cannot has done it already, or never will.
func syncDirs(dirs map[string]bool) error {
	for dir := range dirs {
		d, err := os.Open(dir)
		if err != nil {
			return fmt.Errorf("cannot bring %s to the disk: %w", dir, cause(err))
		}
		_ = d.Sync()
		d.Close()
	}
	return nil
}
