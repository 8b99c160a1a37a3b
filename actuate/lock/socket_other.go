//go:build !linux

package lock

import "errors"

func listen(Options) (hold, error) { return nil, errNoSocket }

// Adopt fails: no lock outlives its process here.
func Adopt([]int, func() string) (*Lock, error) {
	return nil, errors.New("cannot take over a lock on this system")
}
