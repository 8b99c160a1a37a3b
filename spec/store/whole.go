package store

import (
	"context"
	"io/fs"
	"path/filepath"
)

// What is done to manifests is of use for other files, too.

// Lock keeps other commands that lock it out of a directory until unlock is called.
// It waits for them, but not for ever.
func Lock(ctx context.Context, dir string) (unlock func(), err error) { return lock(ctx, dir) }

// WriteWhole puts a content at a path: all of it, or none. Mode, owner and group are
// those of the former file; without one (nil) it is the user's own and private. A link
// is replaced, and not followed.
func WriteWhole(path string, data []byte, former fs.FileInfo) error {
	if err := writeFile(path, data, former, 0o600); err != nil {
		return err
	}
	return syncDirs(map[string]bool{filepath.Dir(path): true})
}
