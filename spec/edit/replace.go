package edit

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/proc-controller/proc-controller/spec"
)

// Replace puts a document in the place of the one with the same key, which may be
// broken. The given text replaces the whole former one, with its comments; what
// divides the documents stays, and the line ends become those of the file. Where
// both texts are the same already, data itself is given back.
func Replace(file string, data []byte, d Document) ([]byte, error) {
	docs := Read(file, data)
	i, err := find(docs, d.Key)
	if err != nil {
		return nil, failed("replace", d.Key, file, err)
	}
	text, err := d.Text(file)
	if err != nil {
		return nil, failed("replace", d.Key, file, err)
	}
	old := &docs[i]
	text = withLineEnds(text, data)
	if bytes.Equal(text, withLineEnds(old.content(), data)) {
		return data, nil
	}
	var b bytes.Buffer
	switch announced := bytes.HasPrefix(old.text, []byte("---")); {
	case len(old.lead) > 0 && !bytes.HasPrefix(text, []byte("---")):
		b.Write(data[:old.at-len(old.lead)]) // the comments before it are its own
	case announced:
		b.Write(data[:old.at])
		b.WriteString("---" + lineEnd(data))
	default:
		b.Write(data[:old.at])
	}
	b.Write(text)
	if end := old.at + len(old.text); end < len(data) {
		b.Write(blankTail(old.text))
		b.Write(data[end:])
	}
	all := wants(docs)
	all[i].object = d.Object
	if err := verify(file, b.Bytes(), all); err != nil {
		return nil, failed("replace", d.Key, file, err)
	}
	return b.Bytes(), nil
}

// blankTail is what endLine and trimBlank leave of a text: the blank lines after
// its last line.
func blankTail(text []byte) []byte {
	tail := text[len(trimBlank(text)):]
	if i := bytes.IndexByte(tail, '\n'); i >= 0 {
		return tail[i+1:]
	}
	return nil
}

// Append puts a document behind those of a file, which may be empty. It does not
// look for its key among them.
func Append(file string, data []byte, d Document) ([]byte, error) {
	text, err := d.Text(file)
	if err != nil {
		return nil, failed("add", d.Key, file, err)
	}
	var all []wanted
	var b bytes.Buffer
	if len(bytes.TrimSpace(data)) > 0 {
		if isJSON(file) {
			return nil, failed("add", d.Key, file, ErrOneObject)
		}
		all = wants(Read(file, data))
		b.Write(endLine(data, data))
		if verify(file, b.Bytes(), all) != nil {
			return nil, failed("add", d.Key, file, errLineEnd)
		}
		b.WriteString("---" + lineEnd(data))
	}
	b.Write(withLineEnds(text, data))
	if err := verify(file, b.Bytes(), append(all, wanted{object: d.Object})); err != nil {
		return nil, failed("add", d.Key, file, err)
	}
	return b.Bytes(), nil
}

// Remove takes the document with a key out of a file. It gives nil where that was
// the only one: then the file is to be removed, also where comments are left.
func Remove(file string, data []byte, key spec.Key) ([]byte, error) {
	docs := Read(file, data)
	i, err := find(docs, key)
	if err != nil {
		return nil, failed("remove", key, file, err)
	}
	if len(docs) == 1 {
		return nil, nil
	}
	start, end := docs[i].at, docs[i].at+len(docs[i].text)
	// The "..." behind it goes too, unless it is what divides its neighbours.
	if last := i == len(docs)-1; i == 0 || last || bytes.HasPrefix(docs[i+1].text, []byte("---")) {
		end += len(terminator(data[end:]))
	}
	result := slices.Concat(data[:start], data[end:])
	if err := verify(file, result, slices.Delete(wants(docs), i, i+1)); err != nil {
		return nil, failed("remove", key, file, err)
	}
	return result, nil
}

// terminator is the line "..." at the beginning of a text, if there is one.
func terminator(text []byte) []byte {
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("...")) {
			return line
		}
		break
	}
	return nil
}

// find gives the index of the document with a key.
func find(docs []Document, key spec.Key) (int, error) {
	has := func(d Document) bool { return d.Key == key }
	i := slices.IndexFunc(docs, has)
	if i < 0 {
		return 0, ErrNotFound
	}
	if j := slices.IndexFunc(docs[i+1:], has); j >= 0 {
		return 0, fmt.Errorf("it is defined twice, at lines %d and %d: remove one of them", docs[i].Line, docs[i+1+j].Line)
	}
	return i, nil
}
