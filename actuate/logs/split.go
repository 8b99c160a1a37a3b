package logs

import (
	"bytes"
	"unicode/utf8"
)

// maxPiece bounds what is held of one line, in bytes. A longer one is given in
// pieces.
const maxPiece = 64 << 10

// piece is a line without its end, or a part of one.
type piece struct {
	text  []byte // valid until the next piece
	start int64  // where it begins in the output
	more  bool   // the line goes on in the next piece
}

// splitter cuts output into lines.
type splitter struct {
	rest  []byte // of a line whose end has not come yet
	start int64  // of rest
	mid   bool   // the beginning of the line was given already
	// skipping leaves out what comes until a line begins.
	skipping bool
}

// feed takes the next part of the output, which begins at the given offset.
func (s *splitter) feed(chunk []byte, offset int64, give func(piece) error) error {
	for len(chunk) > 0 {
		line, after, ended := bytes.Cut(chunk, []byte{'\n'})
		if err := s.add(line, offset, ended, give); err != nil {
			return err
		}
		offset += int64(len(chunk) - len(after))
		chunk = after
	}
	return nil
}

// add takes a part of one line.
func (s *splitter) add(part []byte, offset int64, ended bool, give func(piece) error) error {
	if s.skipping {
		s.skipping = !ended
		return nil
	}
	if len(s.rest) == 0 {
		s.start = offset
	}
	if ended && len(s.rest) == 0 && len(part) <= maxPiece { // most
		s.mid = false
		return give(piece{text: part, start: offset})
	}
	s.rest = append(s.rest, part...)
	for len(s.rest) > maxPiece {
		n := wholeRunes(s.rest, maxPiece)
		if err := give(piece{text: s.rest[:n], start: s.start, more: true}); err != nil {
			return err
		}
		s.rest = s.rest[:copy(s.rest, s.rest[n:])]
		s.start += int64(n)
		s.mid = true
	}
	if !ended {
		return nil
	}
	return s.end(give)
}

// end gives what has come of a line, as a line.
func (s *splitter) end(give func(piece) error) error {
	p := piece{text: s.rest, start: s.start}
	s.rest, s.mid = s.rest[:0], false
	return give(p)
}

// pending says that a line has begun and not ended.
func (s *splitter) pending() bool { return len(s.rest) > 0 || s.mid }

// wholeRunes gives a length of at most n at which no character is cut in two.
func wholeRunes(b []byte, n int) int {
	for back := 1; back < utf8.UTFMax && back < n; back++ {
		if utf8.RuneStart(b[n-back]) {
			if !utf8.FullRune(b[n-back : n]) {
				return n - back
			}
			break
		}
	}
	return n
}
