package store

import (
	"os"
	"path/filepath"
)

// WorkTree gives the top of the git work tree that a directory lies in, or "":
// there the files are changed by whoever commits them.
func WorkTree(dir string) string {
	for _, from := range []string{dir, resolved(dir)} {
		for at := from; ; at = filepath.Dir(at) {
			// A directory, or a file in a linked work tree and a submodule.
			if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
				return at
			}
			if at == filepath.Dir(at) {
				break
			}
		}
	}
	return ""
}

// resolved is a path without links, as far as it leads anywhere.
func resolved(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}
