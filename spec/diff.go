package spec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// FieldChange is one field that two objects have different values of.
type FieldChange struct {
	// Path names it: spec.backoff.max, spec.env[LOG_LEVEL].value.
	Path string `json:"path"`
	// Restarts says that a process takes it in when it starts; what is not so acts
	// on what runs.
	Restarts bool `json:"restarts"`
	// Was and Is are the values as JSON; empty where the field is not set. Both are
	// empty where only the order of a list has changed.
	Was json.RawMessage `json:"was,omitempty"`
	Is  json.RawMessage `json:"is,omitempty"`
}

// Diff gives what is other in b than it is in a, in the order of the paths. Both
// have their defaults filled in; what is empty and what is not set are the same.
// Nothing differs where both mean the same.
func Diff(a, b *Object) []FieldChange {
	was, is := leavesOf(a), leavesOf(b)
	var changes []FieldChange
	for _, path := range slices.Sorted(maps.Keys(joined(was, is))) {
		if x, y := was[path], is[path]; !bytes.Equal(x, y) {
			changes = append(changes, FieldChange{Path: path, Restarts: pathRestarts(path), Was: x, Is: y})
		}
	}
	changes = append(changes, reordered(a, b, changes)...)
	slices.SortStableFunc(changes, func(x, y FieldChange) int { return cmp.Compare(x.Path, y.Path) })
	return changes
}

func joined(a, b map[string]json.RawMessage) map[string]json.RawMessage {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// pathRestarts says of a path whether its field is in the restart hash.
func pathRestarts(path string) bool {
	name, inSpec := strings.CutPrefix(path, "spec.")
	if !inSpec {
		return false
	}
	if i := strings.IndexAny(name, ".["); i >= 0 {
		name = name[:i]
	}
	return slices.Contains(restarts, name)
}

// reordered finds the fields in which only the order of named elements differs:
// of variables, the later one wins.
func reordered(a, b *Object, found []FieldChange) (changes []FieldChange) {
	x, y := reflect.ValueOf(&a.Spec).Elem(), reflect.ValueOf(&b.Spec).Elem()
	for _, f := range layouts()[x.Type()] {
		path := "spec." + f.name
		v, w := x.Field(f.index), y.Field(f.index)
		if v.Kind() != reflect.Slice || v.Type().Elem().Kind() != reflect.Struct || v.Len() == 0 ||
			slices.ContainsFunc(found, func(c FieldChange) bool { return strings.HasPrefix(c.Path, path+"[") }) {
			continue
		}
		if !bytes.Equal(appendValue(nil, v), appendValue(nil, w)) {
			changes = append(changes, FieldChange{Path: path, Restarts: pathRestarts(path)})
		}
	}
	return changes
}

// leavesOf gives the values of an object that hold no further fields, by path, as
// JSON. Elements of a list of objects go by their names, any other list is one
// value.
func leavesOf(o *Object) map[string]json.RawMessage {
	leaves := leaves{}
	leaves.take("metadata.labels", o.Metadata.Labels)
	leaves.take("metadata.annotations", o.Metadata.Annotations)
	leaves.take("spec", o.Spec)
	return leaves
}

type leaves map[string]json.RawMessage

// take adds a value as the manifest would have it.
func (l leaves) take(path string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("spec: %s cannot be written as JSON: %v", path, err)) // the types of a manifest can
	}
	l.split(path, text)
}

// split takes a value apart.
func (l leaves) split(path string, text json.RawMessage) {
	switch text[0] {
	case '{':
		var fields map[string]json.RawMessage
		if json.Unmarshal(text, &fields) == nil {
			for name, v := range fields {
				l.split(path+"."+name, v)
			}
			return
		}
	case '[':
		var elements []json.RawMessage
		if json.Unmarshal(text, &elements) == nil && len(elements) > 0 && elements[0][0] == '{' {
			l.elements(path, elements)
			return
		}
	case 'n': // null
		return
	}
	l[path] = text
}

// elements takes a list of objects apart.
func (l leaves) elements(path string, list []json.RawMessage) {
	taken := map[string]bool{}
	for i, e := range list {
		var named struct{ Name string }
		label := fmt.Sprint(i)
		if json.Unmarshal(e, &named) == nil && named.Name != "" && !taken[named.Name] {
			label = named.Name
		}
		taken[label] = true
		at := path + "[" + label + "]"
		before := len(l)
		l.split(at, e)
		if label == named.Name && len(l) > before+1 {
			delete(l, at+".name") // the path says it
		}
	}
}
