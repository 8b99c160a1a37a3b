//go:build !linux

package observe

// usageSupported says no: what a process uses is read on Linux alone.
func usageSupported() error { return ErrNoUsage }

func readUsage(*Instance) *Usage { return nil }
