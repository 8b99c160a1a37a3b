package spec

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// walker goes once through the nodes of a document, with the schema at hand.
// It writes the values as JSON and collects everything that is wrong with
// their form, each at its place.
//
// It is the first of two checks: it knows positions and what YAML makes of a
// word, which the strict JSON decoder that follows cannot know any more.
type walker struct {
	file     string
	before   int // lines of the file before the document
	out      []byte
	path     fieldPath
	findings []Finding
	unsaid   int // findings beyond maxFindings
	// dropped are the values that are not in out as the user meant them.
	dropped  []fieldPath
	merges   int  // how many mappings have been merged in
	overflow bool // the aliases expand to too much
}

// maxMerges bounds the mappings that one document merges in with "<<": they
// may be nested, and in themselves.
const maxMerges = 256

func (w *walker) fail(n *yaml.Node, message string) {
	if len(w.findings) == maxFindings {
		w.unsaid++
		return
	}
	w.findings = append(w.findings, Finding{w.file, w.before + n.Line, n.Column, ReasonInvalid, message})
}

// reject reports the value at the current path and leaves it out.
func (w *walker) reject(n *yaml.Node, message string) bool {
	w.fail(n, w.path.String()+": "+message)
	if w.unsaid == 0 {
		w.dropped = append(w.dropped, slices.Clone(w.path))
	}
	return false
}

// value writes a value and says whether it was fit to be written. If not, it
// has been reported and out may hold a part of it.
func (w *walker) value(n *yaml.Node, s *schema) bool {
	if n.Kind == yaml.AliasNode {
		if !w.room(n) {
			return false
		}
		n = n.Alias
	}
	if n.Style&yaml.TaggedStyle != 0 && !(s.shape == shapeText && n.Tag == "!!str") {
		return w.reject(n, "the tag "+n.Tag+" is not allowed: write the value without it")
	}
	switch s.shape {
	case shapeObject:
		return w.object(n, s)
	case shapeList:
		return w.list(n, s)
	case shapeMap:
		return w.stringMap(n)
	}
	return w.scalar(n, s)
}

// room says whether an alias may still be expanded. Types are not recursive,
// so that an alias in itself ends by its type; repetition has to be counted.
func (w *walker) room(n *yaml.Node) bool {
	if len(w.out) <= maxExpanded && w.merges <= maxMerges {
		return true
	}
	if !w.overflow {
		w.overflow = true
		w.reject(n, "the aliases of this document expand to too much: write the values out")
	}
	return false
}

func (w *walker) list(n *yaml.Node, s *schema) bool {
	if n.Kind != yaml.SequenceNode {
		return w.reject(n, "a list is wanted here, not "+describe(n)+listHint(n))
	}
	w.out = append(w.out, '[')
	for i, e := range n.Content {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		mark := len(w.out)
		w.path = append(w.path, step{index: i})
		if !w.value(e, s.elem) {
			// The place is kept, so that the indexes after it stay right.
			w.out = append(w.out[:mark], "null"...)
		}
		w.path = w.path[:len(w.path)-1]
		if w.overflow {
			return false
		}
	}
	w.out = append(w.out, ']')
	return true
}

func (w *walker) object(n *yaml.Node, s *schema) bool {
	if n.Kind != yaml.MappingNode {
		return w.reject(n, "fields are wanted here ("+strings.Join(s.names, ", ")+"), not "+describe(n))
	}
	var seen [maxFields]*yaml.Node
	w.out = append(w.out, '{')
	w.fields(n, s, &seen, false)
	w.closeBrace()
	return true
}

// fields writes the fields of one mapping, then those of the mappings that it
// merges (<<) as far as it has not set them itself.
func (w *walker) fields(n *yaml.Node, s *schema, seen *[maxFields]*yaml.Node, merging bool) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			continue
		}
		f := s.index(key.Value)
		switch {
		case key.Kind != yaml.ScalarNode:
			w.fail(key, "a field name is wanted here, not "+describe(key))
		case f < 0:
			w.unknown(key, s)
		case seen[f] == nil:
			seen[f] = key
			w.field(&s.fields[f], val)
		case !merging:
			w.fail(key, "duplicate field "+w.under(key.Value)+": first set at line "+strconv.Itoa(w.before+seen[f].Line))
		}
	}
	w.eachMerge(n, func(m *yaml.Node) { w.fields(m, s, seen, true) })
}

func (w *walker) field(f *field, val *yaml.Node) {
	mark := len(w.out)
	w.out = append(w.out, f.key...)
	w.path = append(w.path, step{name: f.name})
	if w.value(val, f.schema) {
		w.out = append(w.out, ',')
	} else {
		w.out = w.out[:mark]
	}
	w.path = w.path[:len(w.path)-1]
}

func (w *walker) stringMap(n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode {
		return w.reject(n, "a mapping of names to text is wanted here, not "+describe(n))
	}
	w.out = append(w.out, '{')
	w.entries(n, make(map[string]*yaml.Node, len(n.Content)/2), false)
	w.closeBrace()
	return true
}

func (w *walker) entries(n *yaml.Node, seen map[string]*yaml.Node, merging bool) {
	for i := 0; i+1 < len(n.Content) && !w.overflow; i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			continue
		}
		if first := seen[key.Value]; first != nil {
			if !merging {
				w.fail(key, "duplicate key "+w.under(key.Value)+": first set at line "+strconv.Itoa(w.before+first.Line))
			}
			continue
		}
		seen[key.Value] = key
		w.entry(key, val)
	}
	w.eachMerge(n, func(m *yaml.Node) { w.entries(m, seen, true) })
}

func (w *walker) entry(key, val *yaml.Node) {
	mark := len(w.out)
	w.path = append(w.path, step{name: key.Value})
	fit := w.value(key, textSchema)
	w.out = append(w.out, ':')
	if w.value(val, textSchema) && fit {
		w.out = append(w.out, ',')
	} else {
		w.out = w.out[:mark]
	}
	w.path = w.path[:len(w.path)-1]
}

// eachMerge calls do for each mapping that a "<<" of n names.
func (w *walker) eachMerge(n *yaml.Node, do func(*yaml.Node)) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != "!!merge" {
			continue
		}
		sources := []*yaml.Node{n.Content[i+1]}
		if sources[0].Kind == yaml.SequenceNode {
			sources = sources[0].Content
		}
		for _, m := range sources {
			if m.Kind != yaml.AliasNode || m.Alias.Kind != yaml.MappingNode {
				w.fail(m, w.under("<<")+": the alias of a mapping is wanted here, not "+describe(m))
				continue
			}
			w.merges++
			if !w.room(m) {
				return
			}
			do(m.Alias)
		}
	}
}

// closeBrace ends an object, taking back the comma after its last field.
func (w *walker) closeBrace() {
	if last := len(w.out) - 1; w.out[last] == ',' {
		w.out = w.out[:last]
	}
	w.out = append(w.out, '}')
}

// under gives the path of a key of the current value.
func (w *walker) under(key string) string {
	return append(slices.Clip(w.path), step{name: key}).String()
}
