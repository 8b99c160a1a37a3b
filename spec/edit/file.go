package edit

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/proc-controller/proc-controller/spec"
)

// File is a manifest file that is changed, document by document. A change costs
// what its own document costs, whatever else the file holds: each is decoded by
// itself when it is changed, and all of the file once, by Result. A change that
// gives an error has changed nothing. One goroutine uses it.
type File struct {
	// Name is its path; one that ends with .json is JSON.
	Name string
	// Docs are its documents, in their order, to be read only.
	Docs []*Document

	data   []byte                   // as it was opened
	tail   []byte                   // what stands after the last document
	byKey  map[spec.Key][]*Document // those that have a key
	edited bool
}

// Open takes a file apart, to change it. It refers to data, which must not change
// after.
func Open(name string, data []byte) *File {
	f := New(name)
	docs := Read(name, data)
	f.data = data
	rest := len(data)
	for i := range docs {
		f.enter(&docs[i])
		rest -= len(docs[i].before) + len(docs[i].text)
	}
	f.tail = data[len(data)-rest:]
	return f
}

// New is a file that is not there yet.
func New(name string) *File {
	return &File{Name: name, byKey: map[spec.Key][]*Document{}}
}

// enter puts a document behind the others.
func (f *File) enter(d *Document) {
	f.Docs = append(f.Docs, d)
	if d.Key != (spec.Key{}) {
		f.byKey[d.Key] = append(f.byKey[d.Key], d)
	}
}

// With gives the documents with a key; several of them are all broken.
func (f *File) With(key spec.Key) []*Document { return f.byKey[key] }

// Edited says that something was changed.
func (f *File) Edited() bool { return f.edited }

// Result is the file as it has become: nil where no document is left, and then it
// is to be removed, also where comments are. It is decoded as a whole, and handed
// out only if each document is what it was or was changed into.
func (f *File) Result() ([]byte, error) {
	switch {
	case !f.edited:
		return f.data, nil
	case len(f.Docs) == 0:
		return nil, nil
	}
	var b bytes.Buffer
	for _, d := range f.Docs {
		b.Write(d.before)
		b.Write(d.text)
	}
	b.Write(f.tail)
	return b.Bytes(), f.verify(b.Bytes())
}

// find gives the one document with a key, and where it stands among the others.
func (f *File) find(key spec.Key) (*Document, int, error) {
	docs := f.byKey[key]
	switch {
	case len(docs) == 0 || key == (spec.Key{}):
		return nil, 0, ErrNotFound
	case len(docs) > 1:
		return nil, 0, fmt.Errorf("it is defined twice, at lines %d and %d: remove one of them", docs[0].Line, docs[1].Line)
	}
	i, _ := slices.BinarySearchFunc(f.Docs, docs[0].order, func(d *Document, order int) int { return cmp.Compare(d.order, order) })
	return docs[0], i, nil
}

// like is a part of the file that shows how its lines end; nil where it has none.
func (f *File) like() []byte {
	for _, d := range f.Docs {
		for _, part := range [][]byte{d.before, d.text} {
			if bytes.Contains(part, []byte("\n")) {
				return part
			}
		}
	}
	return f.tail
}

// last says that nothing stands after the document of that index.
func (f *File) last(i int) bool { return i == len(f.Docs)-1 && len(f.tail) == 0 }
