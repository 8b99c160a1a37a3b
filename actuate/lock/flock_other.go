//go:build !linux && !darwin && !freebsd

package lock

import (
	"errors"
	"io"
)

// flock does not exist here.
func flock(string) (io.Closer, error) { return nil, errors.New("no flock on this system") }
