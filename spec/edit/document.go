package edit

import (
	"bytes"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

// Document is one document of a file, with its text.
type Document struct {
	// Line and Findings are as they were read: what is changed before it in its file
	// moves them only once that is written. A document that is put in has no line.
	spec.Document
	before []byte // what stands between the document before it and this one
	text   []byte // from its "---", where it has one
	// lead is the end of before that belongs to it, of the first document: comments.
	lead []byte
	// entire says that the file is wrong as a whole, and was not taken apart.
	entire bool
	order  int // grows from document to document of a file
}

// Read takes a file apart: there is one document for each that spec.Decode finds.
// The documents refer to data, which must not change after.
func Read(file string, data []byte) []Document { return Documents(spec.Decode(file, data), data) }

// Documents is Read of data that is decoded already.
func Documents(decoded []spec.Document, data []byte) []Document {
	extents := spec.Extents(data)
	docs := make([]Document, len(decoded))
	done := 0
	for i := range decoded {
		d := &docs[i]
		d.Document, d.order = decoded[i], i
		if len(extents) != len(decoded) {
			d.text, d.entire = data, true
			continue
		}
		e := extents[i]
		d.before, d.text, done = data[done:e.Start], data[e.Start:e.End], e.End
	}
	docs[0].lead = leadOf(docs[0].before)
	return docs
}

// leadOf is what belongs to the first document of what stands before it.
func leadOf(before []byte) []byte {
	if lead := bytes.TrimPrefix(before, byteOrderMark); onlyComments(lead) {
		return lead
	}
	return nil
}

// onlyComments says that a text has neither content nor directives (%YAML).
func onlyComments(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// isJSON says that a file is written as JSON by its name.
func isJSON(file string) bool { return strings.HasSuffix(file, ".json") }

// Text gives the document as the content of a file with that name: without the
// "---" before it and the blank lines after it, and with comments. JSON becomes
// YAML in a file that is not JSON, and the other way round; JSON has no comments.
// The document must have an object.
func (d *Document) Text(file string) ([]byte, error) {
	text, sure := d.content()
	if !sure && !means(d.File, text, d.Object) {
		return nil, errLineEnd
	}
	if isJSON(file) == isJSON(d.File) {
		return text, nil
	}
	return translate(text, isJSON(file))
}

// content is the text without what divides it from its neighbours. It ends with
// the line. Sure says that it was seen to mean the object by itself.
func (d *Document) content() (text []byte, sure bool) {
	_, body := cutDivider(d.text)
	text = append(bytes.Clone(d.lead), body...)
	short := endLine(trimBlank(text), text)
	// A block text with "|+" keeps the blank lines after it.
	if d.Object == nil {
		return short, false
	}
	if means(d.File, short, d.Object) {
		return short, true
	}
	return endLine(text, text), false
}

// cutDivider cuts the "---" off a text, with its line where nothing else stands
// on it.
func cutDivider(text []byte) (divider, body []byte) {
	if !bytes.HasPrefix(text, []byte("---")) {
		return nil, text
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	length := len(line)
	if rest := bytes.TrimSpace(line[len("---"):]); len(rest) > 0 {
		length = bytes.Index(line, rest)
	} else if length < len(text) {
		length++
	}
	return text[:length], text[length:]
}

// trimBlank cuts blank lines off the end.
func trimBlank(text []byte) []byte { return bytes.TrimRight(text, " \t\r\n") }

// endLine ends a text with the line end that another text has.
func endLine(text, like []byte) []byte {
	if bytes.HasSuffix(text, []byte("\n")) {
		return text
	}
	return append(bytes.Clone(text), lineEnd(like)...)
}

// lineEnd is how the lines of a text end: as the first one does.
func lineEnd(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// withLineEnds gives a text the line ends of another, where that has lines.
func withLineEnds(text, like []byte) []byte {
	if !bytes.Contains(like, []byte("\n")) || lineEnd(text) == lineEnd(like) {
		return text
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(text, []byte("\n"), []byte(lineEnd(like)))
}

// Mentions says that a word occurs in the text of the document, by itself.
func (d *Document) Mentions(word string) bool {
	part := func(i int) bool { // of a longer word
		if i < 0 || i >= len(d.text) {
			return false
		}
		c := d.text[i]
		return c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	for at := 0; at < len(d.text); at++ {
		i := bytes.Index(d.text[at:], []byte(word))
		if i < 0 {
			return false
		}
		at += i
		if !part(at-1) && !part(at+len(word)) {
			return true
		}
	}
	return false
}
