//go:build !linux

package actuate

import "time"

// fostering is nothing here: orphans go to the first process.
type fostering struct{}

func (*Foster) open() error { return nil }

// Close does nothing.
func (*Foster) Close() {}

// Left is empty: what children leave behind is not known.
func (*Foster) Left() []Leftover { return nil }

// End does nothing.
func (*Foster) End(time.Duration) []Leftover { return nil }
