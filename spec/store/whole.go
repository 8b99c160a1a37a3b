package store

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/proc-controller/proc-controller/spec"
)

// What is done to manifests is of use for other files, too.

// Lock keeps other commands that lock it out of a directory until unlock is called.
// It waits for them, but not for ever.
func Lock(ctx context.Context, dir string) (unlock func(), err error) { return lock(ctx, dir) }

// Changeable says that a file may be written over, as it would have been in place. To put
// another one there needs only the directory, and would undo what its owner, or the
// program that it comes from, has made read-only.
func Changeable(path string, file fs.FileInfo) error {
	if file.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("it is read-only: change it where it comes from, or allow it first: chmod u+w %s", spec.ShellWord(path))
	}
	return nil
}

// WriteWhole puts a content at a path: all of it, or none. Mode, owner and group are
// those of the former file; without one (nil) it is the user's own and private. A link
// is replaced, and not followed.
func WriteWhole(path string, data []byte, former fs.FileInfo) error {
	if err := writeFile(path, data, former, 0o600); err != nil {
		return err
	}
	return syncDirs(map[string]bool{filepath.Dir(path): true})
}
