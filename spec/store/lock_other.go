//go:build !unix

package store

import (
	"context"
	"errors"
)

// lock does not exist here.
func lock(context.Context, string) (unlock func(), err error) {
	return nil, errors.New("changes cannot be kept apart on this system: change the files yourself")
}
