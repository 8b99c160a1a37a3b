//go:build !linux

package prefault

// Drop does nothing: only Linux is asked to.
func Drop() {}
