package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/proc-controller/proc-controller/spec"
)

// verify decodes a result and compares it with what the documents have to be: their
// object, or, where that is nil, the same broken or foreign text as before.
func (f *File) verify(result []byte) error {
	docs := Read(f.Name, result)
	if docs[0].entire && !f.Docs[0].entire {
		return fmt.Errorf("cannot change %s: %s", f.Name, docs[0].Findings[0].Message)
	}
	for i, want := range f.Docs {
		if i >= len(docs) || !want.is(&docs[i]) {
			return failed("change", want.Key, f.Name, errUnforeseen)
		}
	}
	if len(docs) > len(f.Docs) {
		return failed("change", docs[len(f.Docs)].Key, f.Name, errUnforeseen)
	}
	return nil
}

// is says that a document was read as what it has to be.
func (d *Document) is(read *Document) bool {
	if d.Object != nil && read.Object != nil {
		return equal(d.Object, read.Object)
	}
	return d.Object == nil && read.Object == nil && bytes.Equal(trimBlank(d.text), trimBlank(read.text))
}

// stands says that a document is divided from the one before it, if there is one,
// and from what follows, unless it is the last; and that by itself it is read as
// what it has to be.
func (f *File) stands(previous, d *Document, last bool) bool {
	part := slices.Concat(d.before, d.text)
	if previous != nil && !(ended(previous.text) && divides(part)) || !last && !ended(d.text) {
		return false
	}
	docs := Read(f.Name, part)
	return len(docs) == 1 && !docs[0].entire &&
		len(docs[0].before) == len(d.before) && len(docs[0].text) == len(d.text) && d.is(&docs[0])
}

// standsAt says so of a document that is to be the one with that index.
func (f *File) standsAt(i int, d *Document) bool { return f.stands(f.previous(i), d, f.last(i)) }

// previous is the document before the one with that index, or nil.
func (f *File) previous(i int) *Document {
	if i == 0 {
		return nil
	}
	return f.Docs[i-1]
}

// ended says that the last line of a text has an end.
func ended(text []byte) bool { return bytes.HasSuffix(text, []byte("\n")) }

// divides says that a text begins with what ends the document before it.
func divides(text []byte) bool {
	return bytes.HasPrefix(text, []byte("---")) || bytes.HasPrefix(text, []byte("..."))
}

// means says that a text is one document with that object.
func means(file string, text []byte, o *spec.Object) bool {
	docs := spec.Decode(file, text)
	return len(docs) == 1 && docs[0].Object != nil && equal(docs[0].Object, o)
}

// equal says that two objects are written alike: what is empty and what is not
// there are the same.
func equal(a, b *spec.Object) bool {
	if a.Equal(b) {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
