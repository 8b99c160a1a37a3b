package logs

import (
	"errors"
	"io"
	"time"
)

// chunkSize is how much is read at once, in bytes.
const chunkSize = 128 << 10

// retimeEvery is how often the times of a file that grows are read again.
const retimeEvery = time.Second

// cursor reads one run from some place on.
type cursor struct {
	*run
	give  func(Line) error
	since time.Time
	times timeline
	timed time.Time // when the times were read
	// base is the place of the file's first byte in the output, cuts how often
	// that had changed.
	base  int64
	cuts  uint64
	pos   int64 // of what is read next, in the file
	lines splitter
	// skipped is what was freed before it was read, and not told yet.
	skipped int64
	// caughtUp says that all that was there has been read once.
	caughtUp bool
	buf      []byte
	head     [headerSize]byte
}

// begin goes to the place that the query begins at.
func (r *run) begin(q *Query, give func(Line) error) *cursor {
	c := &cursor{run: r, give: give, since: q.Since, buf: make([]byte, chunkSize)}
	c.retime()
	c.base, c.cuts = c.times.base, c.times.cuts
	c.lines.skipping = c.cuts > 1 // a line was cut in two
	size := r.info.Size()
	c.goTo(dataFrom(r.file, 0), 0)
	if !q.Since.IsZero() {
		c.goTo(c.offsetOf(q.Since, size), c.pos)
	}
	if q.Tail >= 0 {
		c.goTo(tailOffset(r.file, c.pos, size, q.Tail), c.pos)
	}
	return c
}

// goTo moves to an offset, unless that is before least. Where no line begins
// there, the rest of that line is left out.
func (c *cursor) goTo(offset, least int64) {
	if offset <= least {
		return
	}
	var before [1]byte
	_, err := c.file.ReadAt(before[:], offset-1)
	c.pos, c.lines.skipping = offset, err != nil || before[0] != '\n'
}

// offsetOf is where what was written since a time begins. Where no times were
// kept, it is known of what was written before the last write alone.
func (c *cursor) offsetOf(since time.Time, size int64) int64 {
	if len(c.times.marks) == 0 {
		if c.info.ModTime().Before(since) {
			return size
		}
		return 0
	}
	return c.times.from(since)
}

// read gives what there is, up to an offset unless that is negative. It says
// whether there was anything.
func (c *cursor) read(limit int64) (progress bool, err error) {
	for limit < 0 || c.pos < limit {
		part := c.buf
		if limit >= 0 {
			part = part[:min(int64(len(part)), limit-c.pos)]
		}
		n, err := c.file.ReadAt(part, c.pos)
		if err != nil && !errors.Is(err, io.EOF) {
			return progress, err
		}
		switch c.moved() {
		case cutting:
			return progress, nil
		case elsewhere:
			continue
		}
		if n == 0 {
			c.caughtUp = true
			return progress, nil
		}
		if c.freed() {
			continue
		}
		progress = true
		offset := c.base + c.pos
		c.pos += int64(n)
		if err := c.lines.feed(part[:n], offset, c.piece); err != nil {
			return progress, err
		}
	}
	return progress, nil
}

// freed goes on behind what was freed before it was read: what was read instead
// are zeros.
func (c *cursor) freed() bool {
	data := dataFrom(c.file, c.pos)
	if data <= c.pos {
		return false
	}
	c.lose(data - c.pos)
	c.pos = data
	return true
}

// lose notes that bytes of the output are gone; the line of which a part is
// missing is left out.
func (c *cursor) lose(bytes int64) {
	if !c.lines.skipping || c.caughtUp {
		c.skipped += bytes
	}
	c.lines = splitter{rest: c.lines.rest[:0], skipping: true}
}

// move is what has become of the place that is read.
type move int

const (
	still     move = iota // it is where it was
	elsewhere             // it was found again
	cutting               // nothing that was read counts
)

// moved finds the place again in a file that was cut: by its keeper, who has
// moved what was kept to the front, or by somebody else, who has emptied it.
func (c *cursor) moved() move {
	h, ok := readHeader(c.path, &c.head)
	switch {
	case ok && h.cuts != c.cuts && h.cuts%2 == 1:
		return cutting
	case ok && h.cuts != c.cuts:
		c.follow(h)
		return elsewhere
	case ok:
		c.base = h.base
	}
	if fi, err := c.file.Stat(); err != nil || fi.Size() >= c.pos {
		return still
	}
	c.base += c.pos
	c.pos, c.lines = 0, splitter{}
	return elsewhere
}

// follow goes where the output has gone.
func (c *cursor) follow(h header) {
	c.pos -= h.base - c.base
	c.base, c.cuts = h.base, h.cuts
	if c.pos < 0 {
		c.lose(-c.pos)
		c.pos = 0
	}
}

// finish gives a last line that has no end.
func (c *cursor) finish() error {
	if !c.lines.pending() {
		return nil
	}
	return c.lines.end(c.piece)
}

// piece gives a line or a part of one, with what is known of it.
func (c *cursor) piece(p piece) error {
	l := Line{Instance: c.token, Text: p.text, More: p.more, Time: c.timeOf(p.start), Skipped: c.skipped}
	if !l.Time.IsZero() && l.Time.Before(c.since) {
		return nil
	}
	c.skipped = 0
	return c.give(l)
}

// timeOf is about when what begins at a place of the output was written. What is
// so new that nobody has noted it yet is as old as the last write, at most.
func (c *cursor) timeOf(offset int64) time.Time {
	at, ok := c.times.at(offset)
	if !ok && c.caughtUp && time.Since(c.timed) >= retimeEvery {
		c.retime()
		at, ok = c.times.at(offset)
	}
	switch {
	case ok:
		return at
	case c.caughtUp:
		return time.Now()
	case len(c.times.marks) > 0:
		return c.info.ModTime()
	}
	return time.Time{}
}

func (c *cursor) retime() {
	c.times, c.timed = readTimes(c.path), time.Now()
}
