package clients

import "bytes"

// lineCounter tells the lines of places that come one after the other.
type lineCounter struct {
	data       []byte
	done, line int
}

func (c *lineCounter) at(offset int) int {
	if offset > c.done {
		c.line += bytes.Count(c.data[c.done:offset], []byte("\n"))
		c.done = offset
	}
	return c.line
}
