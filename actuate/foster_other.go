//go:build !linux

package actuate

import "time"

// fostering is nothing here: orphans go to the first process.
type fostering struct{}

func (*fostering) open() error { return nil }

// Close does nothing.
func (*fostering) Close() {}

// Left is empty: what children leave behind is not known.
func (*fostering) Left() []Leftover { return nil }

// End does nothing.
func (*fostering) End(time.Duration) []Leftover { return nil }
