package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	readSize  = 32 << 10
	eventSize = 4 << 10   // a stream may be of one small event: the answer to a probe
	keepSize  = 256 << 10 // a line's buffer that has grown beyond this is not kept
	headSize  = 4 << 10
)

// LineReader reads lines up to a bound. It is for one goroutine.
type LineReader struct {
	r    *bufio.Reader
	max  int
	line []byte
}

// NewLineReader reads from r lines of at most limit bytes.
func NewLineReader(r io.Reader, limit int) *LineReader {
	return newLineReader(r, limit, readSize)
}

func newLineReader(r io.Reader, limit, size int) *LineReader {
	return &LineReader{r: bufio.NewReaderSize(r, size), max: limit}
}

// TooLongError says that a line was longer than the bound. It was read to its end, so
// the next one can be read, but only its beginning was kept.
type TooLongError struct {
	Length int64  // bytes
	Head   []byte // the first few KiB
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("a line of %d bytes is longer than is taken", e.Length)
}

// Read gives the next line without its end; it is good until the next call. What
// comes after the last end of line is given along with io.ErrUnexpectedEOF, once.
// A *TooLongError is about one line only: the next call goes on.
func (l *LineReader) Read() ([]byte, error) {
	if cap(l.line) > keepSize {
		l.line = nil
	}
	l.line = l.line[:0]
	var skipped int64
	for {
		part, err := l.r.ReadSlice('\n')
		switch {
		case skipped > 0:
			skipped += int64(len(part))
		case len(l.line)+len(part) > l.max+2:
			skipped = int64(len(l.line) + len(part))
			l.line = append(l.line, part[:min(len(part), headSize)]...)
			l.line = append([]byte(nil), l.line[:min(len(l.line), headSize)]...)
		case len(l.line) == 0 && err == nil:
			return trimEnd(part), nil // the usual case: it lies in the buffer as a whole
		default:
			l.line = append(l.line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.ended(skipped, err)
		}
	}
}

// ended says what has been read when a line ends, or the input does.
func (l *LineReader) ended(skipped int64, err error) ([]byte, error) {
	switch {
	case skipped > 0:
		return nil, &TooLongError{Length: skipped, Head: l.line}
	case err == nil:
		return trimEnd(l.line), nil
	case errors.Is(err, io.EOF) && len(l.line) > 0:
		return trimEnd(l.line), io.ErrUnexpectedEOF
	}
	return nil, err
}

func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}
