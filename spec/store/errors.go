package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/proc-controller/proc-controller/spec"
)

// DirError is a directory that could not be read or changed. Unwrap gives what
// the system said.
type DirError struct {
	what, dir string
	err       error
}

// Error says in one line what to do.
func (e *DirError) Error() string {
	said := fmt.Sprintf("cannot %s %s: %v", e.what, e.dir, cause(e.err))
	switch {
	case errors.Is(e.err, fs.ErrNotExist):
		return fmt.Sprintf("the manifest directory %s does not exist: mkdir -p %s", e.dir, spec.ShellWord(e.dir))
	case errors.Is(e.err, syscall.EROFS):
		return said + ": change the files where they come from"
	case errors.Is(e.err, fs.ErrPermission):
		if fi, err := os.Stat(e.dir); err == nil {
			return said + ": it is of " + ownerOf(fi) + "; act as its owner, or change the files where they come from"
		}
	}
	return said
}

// Unwrap gives the cause.
func (e *DirError) Unwrap() error { return e.err }

// cause gives what the system said, without the name of the call and the path.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
