package edit

import (
	"bytes"
	"encoding/json"

	"github.com/proc-controller/proc-controller/spec"
)

// wanted is what a document of a result has to be: an object, or, where that is
// nil, the same broken or foreign text as before.
type wanted struct {
	object *spec.Object
	text   []byte
}

// wants gives what the documents of a file are.
func wants(docs []Document) []wanted {
	all := make([]wanted, len(docs))
	for i := range docs {
		all[i] = wanted{docs[i].Object, docs[i].text}
	}
	return all
}

// verify decodes a result and compares it with what is wanted.
func verify(file string, result []byte, all []wanted) error {
	docs := Read(file, result)
	if len(docs) != len(all) {
		return errUnforeseen
	}
	for i := range docs {
		switch want := all[i]; {
		case want.object != nil && docs[i].Object != nil:
			if !equal(want.object, docs[i].Object) {
				return errUnforeseen
			}
		case want.object != nil || docs[i].Object != nil, !bytes.Equal(trimBlank(want.text), trimBlank(docs[i].text)):
			return errUnforeseen
		}
	}
	return nil
}

// means says that a text is one document with that object.
func means(file string, text []byte, o *spec.Object) bool {
	docs := spec.Decode(file, text)
	return len(docs) == 1 && docs[0].Object != nil && equal(docs[0].Object, o)
}

// equal says that two objects are written alike: what is empty and what is not
// there are the same.
func equal(a, b *spec.Object) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
