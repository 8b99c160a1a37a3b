package rpc

import (
	"bytes"
	"encoding/json"
)

// scanner walks over the bytes of one object or array, value by value.
type scanner struct {
	b  []byte
	at int
}

// open steps over the bracket that b begins with.
func (s *scanner) open(bracket byte) bool {
	s.blanks()
	if s.at >= len(s.b) || s.b[s.at] != bracket {
		return false
	}
	s.at++
	return true
}

// more steps to the next value, over the comma; false at the closing bracket.
func (s *scanner) more(bracket byte) bool {
	s.blanks()
	if s.at < len(s.b) && s.b[s.at] == ',' {
		s.at++
		s.blanks()
	}
	return s.at < len(s.b) && s.b[s.at] != bracket
}

func (s *scanner) blanks() {
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// value steps over one value of any kind and gives it.
func (s *scanner) value() json.RawMessage {
	s.blanks()
	start := s.at
	if s.at >= len(s.b) {
		return nil
	}
	switch s.b[s.at] {
	case '"':
		s.text()
	case '{', '[':
		s.nested()
	default:
		for s.at < len(s.b) && !ends(s.b[s.at]) {
			s.at++
		}
	}
	return s.b[start:s.at:s.at]
}

// ends says whether c ends a number or a word.
func ends(c byte) bool {
	switch c {
	case ',', ':', '}', ']', '{', '[', '"', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}

// text steps over a string. Most have no escapes, so the next quote is looked for.
func (s *scanner) text() {
	s.at++
	for s.at < len(s.b) {
		i := bytes.IndexByte(s.b[s.at:], '"')
		if i < 0 {
			s.at = len(s.b)
			return
		}
		quote := s.at + i
		s.at = quote + 1
		backslashes := 0
		for quote-1-backslashes >= 0 && s.b[quote-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return
		}
	}
}

// nested steps over an object or an array.
func (s *scanner) nested() {
	for depth := 0; s.at < len(s.b); {
		switch s.b[s.at] {
		case '"':
			s.text()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.at++
		if depth == 0 {
			return
		}
	}
}
