//go:build !(linux || darwin || freebsd)

package source

import "os"

// handle is an open file.
type handle struct{ *os.File }

func open(path string) (handle, error) {
	f, err := os.Open(path)
	return handle{f}, err
}

func (h handle) close() { _ = h.Close() }

func (h handle) stamp() (stamp, error) { return stampFrom(h.Stat()) }
