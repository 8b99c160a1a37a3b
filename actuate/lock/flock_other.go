//go:build !linux && !darwin && !freebsd

package lock

import "errors"

// flock does not exist here.
func flock(string) (hold, error) { return nil, errors.New("no flock on this system") }
