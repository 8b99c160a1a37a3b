package edit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

// Set gives one field of a document a value: text, a number or a boolean. The
// path names it, as in "spec", "suspend"; what it lies in has to be there. Where
// the field is not there yet it becomes the first of what it lies in. Data itself
// is given back where the document says so already.
func Set(file string, data []byte, key spec.Key, path []string, value any) ([]byte, error) {
	return change(file, data, key, path, value, func(s *site, text string) (cut, error) {
		if s.value == nil {
			return s.insert(path[len(path)-1], text)
		}
		return s.overwrite(text)
	})
}

// Reset takes a field out of a document, so that it has its default. Where a
// comment stands beside it, or it is set elsewhere and merged in, the default is
// written instead. Data itself is given back where the field is not set.
func Reset(file string, data []byte, key spec.Key, path []string, value any) ([]byte, error) {
	result, err := change(file, data, key, path, value, func(s *site, _ string) (cut, error) {
		if s.value == nil {
			return cut{}, errUnforeseen
		}
		return s.remove()
	})
	if err == nil {
		return result, nil
	}
	return Set(file, data, key, path, value)
}

// cut is a change of the text of a document: what lies between two places is
// replaced.
type cut struct {
	start, end int
	text       string
}

// change makes a cut in a document, and sees to it that it is the right one.
func change(file string, data []byte, key spec.Key, path []string, value any, how func(*site, string) (cut, error)) ([]byte, error) {
	what := "set " + strings.Join(path, ".") + " of"
	docs := Read(file, data)
	i, err := find(docs, key)
	if err != nil {
		return nil, failed(what, key, file, err)
	}
	d := &docs[i]
	if d.Object == nil {
		f := d.Findings[0]
		return nil, failed(what, key, file, fmt.Errorf("it has a mistake at line %d: %s", f.Line, f.Message))
	}
	want, text, err := with(d.Object, path, value)
	if err != nil {
		return nil, failed(what, key, file, err)
	}
	s, err := locate(file, d.text, path)
	if err != nil {
		return nil, failed(what, key, file, err)
	}
	if equal(want, d.Object) && (s.value == nil || s.value.Value == fmt.Sprint(value)) {
		return data, nil
	}
	c, err := how(s, text)
	if err != nil {
		return nil, failed(what, key, file, err)
	}
	result := slices.Concat(data[:d.at+c.start], []byte(c.text), data[d.at+c.end:])
	all := wants(docs)
	all[i].object = want
	if err := verify(file, result, all); err != nil {
		return nil, failed(what, key, file, err)
	}
	return result, nil
}

// with gives the object that is wanted, and the value as it is written: what is
// JSON is YAML, too.
func with(o *spec.Object, path []string, value any) (*spec.Object, string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, "", err
	}
	whole, err := json.Marshal(o)
	if err != nil {
		return nil, "", err
	}
	var fields map[string]any
	if err := json.Unmarshal(whole, &fields); err != nil {
		return nil, "", err
	}
	in := fields
	for _, name := range path[:len(path)-1] {
		next, ok := in[name].(map[string]any)
		if !ok {
			return nil, "", errors.New("there is no " + name + " to set it in")
		}
		in = next
	}
	in[path[len(path)-1]] = json.RawMessage(text)
	whole, err = json.Marshal(fields)
	if err != nil {
		return nil, "", err
	}
	docs := spec.Decode("wanted.json", whole)
	if docs[0].Object == nil {
		return nil, "", errors.New(docs[0].Findings[0].Message)
	}
	return docs[0].Object, string(text), nil
}
