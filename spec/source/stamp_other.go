//go:build !(linux || darwin || freebsd)

package source

import (
	"io/fs"
	"os"
)

// lstat looks at a path without following it.
func lstat(path string) (stamp, error) { return stampFrom(os.Lstat(path)) }

// stat looks at what a path leads to.
func stat(path string) (stamp, error) { return stampFrom(os.Stat(path)) }

// stampFrom has neither inode nor device: there a change shows by size and
// time alone.
func stampFrom(fi fs.FileInfo, err error) (stamp, error) {
	if err != nil {
		return stamp{}, err
	}
	return stamp{size: fi.Size(), mtime: fi.ModTime().UnixNano(), mode: fi.Mode()}, nil
}
