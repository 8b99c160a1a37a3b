package edit

import (
	"bytes"
	"errors"
)

// overwrite puts a text in the place of the value.
func (s *site) overwrite(text string) (cut, error) {
	start, err := s.offset(s.value)
	if err != nil {
		return cut{}, err
	}
	start += properties(s.text[start:])
	end, err := s.end(s.value, start)
	return cut{start, end, text}, err
}

// insert makes a new field the first one of the parent.
func (s *site) insert(name, text string) (cut, error) {
	field := s.fieldName(name) + ": " + text
	if s.flow() {
		return s.insertFlow(field)
	}
	if s.owner == nil || len(s.parent.Content) == 0 {
		return cut{}, errUnforeseen
	}
	at, err := s.offset(s.owner)
	if err != nil {
		return cut{}, err
	}
	// Behind the line with the owner's name: comments that follow it are about
	// the field that is the first one now.
	length := bytes.IndexByte(s.text[at:], '\n') + 1
	if length == 0 {
		return cut{}, errUnforeseen
	}
	at += length
	return cut{at, at, s.indent() + field + lineEnd(s.text)}, nil
}

// insertFlow does so between braces, on a line of its own where the first field
// has one.
func (s *site) insertFlow(field string) (cut, error) {
	at, err := s.offset(s.parent)
	if err != nil {
		return cut{}, err
	}
	at += properties(s.text[at:])
	if at >= len(s.text) || s.text[at] != '{' {
		return cut{}, errPlace
	}
	at++
	if len(s.parent.Content) == 0 {
		return cut{at, at, field}, nil
	}
	rest := s.text[at:]
	gap := rest[:len(rest)-len(bytes.TrimLeft(rest, " \t\r\n"))]
	switch {
	case bytes.Contains(gap, []byte("\n")):
		return cut{at, at, string(gap) + field + ","}, nil
	case bytes.HasPrefix(rest[len(gap):], []byte("#")): // a comment on the line of the brace
		return cut{at, at, field + ","}, nil
	}
	at += len(gap)
	return cut{at, at, field + ", "}, nil
}

// errComment says that a comment would be lost, or left without its field.
var errComment = errors.New("a comment stands beside it")

// remove takes the field out, with its line.
func (s *site) remove() (cut, error) {
	start, err := s.offset(s.name)
	if err != nil {
		return cut{}, err
	}
	end, err := s.offset(s.value)
	if err != nil {
		return cut{}, err
	}
	if end, err = s.end(s.value, end); err != nil {
		return cut{}, err
	}
	if s.flow() {
		return s.removeFlow(start, end)
	}
	return s.removeLine(start, end, "")
}

// removeLine takes out the line of a field, on which nothing else may stand but
// what ends the field.
func (s *site) removeLine(start, end int, terminator string) (cut, error) {
	line := bytes.LastIndexByte(s.text[:start], '\n') + 1
	if len(bytes.Trim(s.text[line:start], " ")) > 0 || s.commentAbove(line) {
		return cut{}, errComment
	}
	rest := s.text[end:]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i+1]
	}
	if string(bytes.TrimSpace(rest)) != terminator {
		return cut{}, errComment
	}
	return cut{start: line, end: end + len(rest)}, nil
}

// commentAbove says that the line before the one that begins there is a comment.
func (s *site) commentAbove(line int) bool {
	above := bytes.TrimRight(s.text[:line], "\r\n")
	above = above[bytes.LastIndexByte(above, '\n')+1:]
	return bytes.HasPrefix(bytes.TrimSpace(above), []byte("#"))
}

// removeFlow takes a field out from between braces, with the comma after it, or
// before it where it is the last one.
func (s *site) removeFlow(start, end int) (cut, error) {
	if c, err := s.removeLine(start, end, ","); err == nil {
		return c, nil
	}
	between := func(a, b int) error {
		if bytes.Contains(s.text[a:b], []byte("#")) {
			return errComment
		}
		return nil
	}
	if s.next != nil {
		next, err := s.offset(s.next)
		if err != nil {
			return cut{}, err
		}
		return cut{start: start, end: next}, between(end, next)
	}
	before := bytes.TrimRight(s.text[:start], " \t\r\n")
	if !bytes.HasSuffix(before, []byte(",")) {
		return cut{}, errUnforeseen
	}
	return cut{start: len(before) - 1, end: end}, nil
}
