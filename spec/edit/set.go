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
// the field is not there yet it becomes the first of what it lies in. It says
// whether the document did not say so already.
func (f *File) Set(key spec.Key, path []string, value any) (changed bool, err error) {
	return f.change(key, path, value, func(s *site, text string) (cut, error) {
		if s.value == nil {
			return s.insert(path[len(path)-1], text)
		}
		return s.overwrite(text)
	})
}

// Reset takes a field out of a document, so that it has its default, which is the
// value. Where a comment stands beside it, or it is set elsewhere and merged in, the
// default is written instead. It says whether the field was set.
func (f *File) Reset(key spec.Key, path []string, value any) (changed bool, err error) {
	changed, err = f.change(key, path, value, func(s *site, _ string) (cut, error) {
		if s.value == nil {
			return cut{}, errUnforeseen
		}
		return s.remove()
	})
	if err == nil {
		return changed, nil
	}
	return f.Set(key, path, value)
}

// cut is a change of the text of a document: what lies between two places is
// replaced.
type cut struct {
	start, end int
	text       string
}

// change makes a cut in a document, and sees to it that it is the right one.
func (f *File) change(key spec.Key, path []string, value any, how func(*site, string) (cut, error)) (changed bool, err error) {
	d, i, err := f.find(key)
	if err == nil {
		changed, err = f.cutInto(d, i, path, value, how)
	}
	if err != nil {
		return false, failed("set "+strings.Join(path, ".")+" of", key, f.Name, err)
	}
	return changed, nil
}

func (f *File) cutInto(d *Document, i int, path []string, value any, how func(*site, string) (cut, error)) (changed bool, err error) {
	if d.Object == nil {
		m := d.Findings[0]
		return false, fmt.Errorf("it has a mistake at line %d: %s", m.Line, m.Message)
	}
	want, text, err := with(d.Object, path, value)
	if err != nil {
		return false, err
	}
	s, err := locate(f.Name, d.text, path)
	if err != nil {
		return false, err
	}
	if equal(want, d.Object) && (s.value == nil || s.value.Value == fmt.Sprint(value)) {
		return false, nil
	}
	c, err := how(s, text)
	if err != nil {
		return false, err
	}
	now := *d
	now.Object = want
	now.text = slices.Concat(d.text[:c.start], []byte(c.text), d.text[c.end:])
	if !f.standsAt(i, &now) {
		return false, errUnforeseen
	}
	*d, f.edited = now, true
	return true, nil
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
