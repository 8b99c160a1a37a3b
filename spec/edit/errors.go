package edit

import (
	"errors"
	"fmt"

	"github.com/proc-controller/proc-controller/spec"
)

// ErrNotFound says that a file has no document with the key.
var ErrNotFound = errors.New("no document of the file has that name")

// ErrOneObject says that a JSON file cannot take another object.
var ErrOneObject = errors.New("a JSON file holds one object: use another file")

// errLineEnd says that a line cannot be ended as the next document demands.
var errLineEnd = errors.New("its last line has no end, and ending it would change the text that it is in: end it first")

// errUnforeseen says that a change would not have had the effect that is wanted.
var errUnforeseen = errors.New("the way it is written is not understood: change it by hand")

// failed says which change could not be made.
func failed(what string, key spec.Key, file string, err error) error {
	return fmt.Errorf("cannot %s %v in %s: %w", what, key, file, err)
}
