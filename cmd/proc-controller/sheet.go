package main

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// sheet is text for a person: fields, and sections with what belongs together. It
// is put together in memory and written at once. Nothing that is empty is shown.
type sheet struct {
	look    terminal
	columns int // of the terminal; 0 where there is none
	text    bytes.Buffer
	indent  int
}

// newSheet fits a sheet to where it will be written.
func newSheet(w io.Writer) *sheet {
	s := &sheet{look: terminalOf(w, os.Getenv)}
	s.columns, _ = s.look.size()
	return s
}

// labelWidth is what the label of a field is filled up to, where there is room.
const labelWidth = 14

// field writes a label and its values, the first beside it and the others below.
// A value that does not fit is broken into lines.
func (s *sheet) field(label string, values ...string) { s.fieldIn("", label, values...) }

// fieldIn is field with the values in a colour.
func (s *sheet) fieldIn(colour, label string, values ...string) {
	values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
	if len(values) == 0 {
		return
	}
	at := s.indent + max(labelWidth, utf8.RuneCountInString(label)+2)
	if s.columns > 0 && s.columns < at+minLast {
		s.line(s.look.paint(bold, label+":"))
		s.within(func() { s.paragraphs(values) })
		return
	}
	first := s.blanks() + s.look.paint(bold, label+":") + strings.Repeat(" ", at-s.indent-utf8.RuneCountInString(label)-1)
	for _, value := range values {
		for _, line := range s.broken(oneLine(value), at) {
			s.text.WriteString(first + s.look.paint(colour, line) + "\n")
			first = strings.Repeat(" ", at)
		}
	}
}

// section writes a title, and what write adds below it; nothing where that adds
// nothing.
func (s *sheet) section(title string, write func()) {
	start := s.text.Len()
	s.text.WriteString("\n" + s.blanks() + s.look.paint(bold, title+":") + "\n")
	begun := s.text.Len()
	s.within(write)
	if s.text.Len() == begun {
		s.text.Truncate(start)
	}
}

// within has something written two columns further in.
func (s *sheet) within(write func()) {
	s.indent += 2
	write()
	s.indent -= 2
}

// line writes one line as it is.
func (s *sheet) line(text string) { s.text.WriteString(s.blanks() + text + "\n") }

// paragraphs writes texts below each other, broken into lines.
func (s *sheet) paragraphs(texts []string) {
	for _, text := range texts {
		for i, line := range s.broken(oneLine(text), s.indent) {
			if i > 0 {
				line = "  " + line
			}
			s.line(line)
		}
	}
}

// quoted writes lines of somebody else's, each as one line and whole.
func (s *sheet) quoted(lines []string) {
	for _, line := range lines {
		s.line(s.look.paint(dim, "| ") + oneLine(line))
	}
}

// table writes a table that has rows.
func (s *sheet) table(t *table) {
	if len(t.rows) == 0 {
		return
	}
	var b bytes.Buffer
	_ = t.writeFor(&b, s.look, max(s.columns-s.indent, min(s.columns, 1))) // into memory, which cannot fail
	for line := range strings.Lines(b.String()) {
		if line == "\n" {
			s.text.WriteString(line)
			continue
		}
		s.text.WriteString(s.blanks() + line)
	}
}

func (s *sheet) blanks() string { return strings.Repeat(" ", s.indent) }

// broken breaks a text into the lines that fit beside so many columns.
func (s *sheet) broken(text string, at int) []string {
	if s.columns == 0 {
		return []string{text}
	}
	return wrapped(text, max(s.columns-at, 1))
}

func (s *sheet) write(w io.Writer) error {
	_, err := s.text.WriteTo(w)
	return err
}
