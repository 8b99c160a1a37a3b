//go:build !linux

package source

import (
	"io/fs"
	"os"
	"path/filepath"
)

// listing reads directories.
type listing struct{}

// each calls visit for every entry of a directory that want asks for, with
// what the entry leads to; link says that it is a symbolic link. The name is
// valid during the call only.
func (l *listing) each(dir string, want func(name []byte, dir bool) bool, visit func(name []byte, link bool, st stamp, err error)) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := []byte(e.Name())
		if !want(name, e.IsDir()) {
			continue
		}
		st, err := stat(filepath.Join(dir, e.Name()))
		visit(name, e.Type()&fs.ModeSymlink != 0, st, err)
	}
	return nil
}
