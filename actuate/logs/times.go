package logs

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"time"
)

// A file with times is a header and, for each mark, the length of the output and
// the time at which it was that long: two big-endian numbers, bytes and
// nanoseconds since 1970. An interrupted write leaves a part of a mark, which
// counts as nothing.
const (
	magic      = "pc-times"
	headerSize = len(magic) + 8 + 8
	markSize   = 16
	// MaxMarks bounds the marks of one file, 128 KiB of them: two hours of
	// output without a pause. Of what is older only every second mark is kept,
	// and so on.
	MaxMarks = 8192
)

// mark says that at a time the output had a number of bytes, counted from its
// very beginning.
type mark struct {
	end int64
	at  time.Time
}

// header is the beginning of a file with times.
type header struct {
	// base is how many bytes the output had before the first one that is in the
	// file. It grows only where the front of a file cannot be freed in place.
	base int64
	// cuts counts the beginnings and the ends of such cuts: it is odd while one
	// is under way.
	cuts uint64
}

func (h header) append(b []byte) []byte {
	b = append(b, magic...)
	b = binary.BigEndian.AppendUint64(b, uint64(h.base))
	return binary.BigEndian.AppendUint64(b, h.cuts)
}

func (m mark) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(m.end))
	return binary.BigEndian.AppendUint64(b, uint64(m.at.UnixNano()))
}

func parseHeader(b []byte) (h header, err error) {
	if len(b) < headerSize || string(b[:len(magic)]) != magic {
		return header{}, fmt.Errorf("cannot read the times of an output file: it does not begin with %q", magic)
	}
	b = b[len(magic):]
	h.base, h.cuts = int64(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:])
	if h.base < 0 {
		return header{}, fmt.Errorf("cannot read the times of an output file: its output begins at %d", h.base)
	}
	return h, nil
}

// parseMarks takes what follows the header. A mark that is not behind the one
// before it is left out.
func parseMarks(b []byte) (marks []mark) {
	last := int64(0)
	for ; len(b) >= markSize; b = b[markSize:] {
		end := int64(binary.BigEndian.Uint64(b))
		if end <= last {
			continue
		}
		last = end
		marks = append(marks, mark{end, time.Unix(0, int64(binary.BigEndian.Uint64(b[8:])))})
	}
	return marks
}

// timeline tells when the parts of one output file were written. The zero value
// knows nothing.
type timeline struct {
	header
	marks []mark
}

// readHeader reads the header alone, into a buffer of the caller's. It is false
// where there is none.
func readHeader(path string, buf *[headerSize]byte) (header, bool) {
	f, err := os.Open(TimesPath(path))
	if err != nil {
		return header{}, false
	}
	defer f.Close()
	if _, err := f.ReadAt(buf[:], 0); err != nil {
		return header{}, false
	}
	h, err := parseHeader(buf[:])
	return h, err == nil
}

// readTimes reads the times of an output file. Where there are none, or none
// that make sense, nothing is known.
func readTimes(path string) timeline {
	b, err := os.ReadFile(TimesPath(path))
	if err != nil {
		return timeline{}
	}
	h, err := parseHeader(b)
	if err != nil {
		return timeline{}
	}
	return timeline{h, parseMarks(b[headerSize:])}
}

// at is about when a byte of the output, counted from its very beginning, was
// written: the first time at which it is known to have been there. It is false
// for what is not known yet.
func (t *timeline) at(offset int64) (time.Time, bool) {
	i, _ := slices.BinarySearchFunc(t.marks, offset, func(m mark, offset int64) int {
		if m.end <= offset {
			return -1
		}
		return 1
	})
	if i == len(t.marks) {
		return time.Time{}, false
	}
	return t.marks[i].at, true
}

// from is the offset in the file at which what was written since a time begins,
// or somewhat earlier. A clock that was set back makes it later, not earlier:
// the last mark before the time counts.
func (t *timeline) from(since time.Time) int64 {
	for _, m := range slices.Backward(t.marks) {
		if m.at.Before(since) {
			return max(0, m.end-t.base)
		}
	}
	return 0
}
