package spec

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// step is one step from a value to a value in it: a field, a map key, or
// (where name is empty) the index of a list.
type step struct {
	name  string
	index int
}

// fieldPath is the way from the document to a value, as in spec.ports[0].port.
type fieldPath []step

// at builds a path of field names (string) and indexes (int).
func at(steps ...any) fieldPath {
	p := make(fieldPath, 0, len(steps))
	for _, s := range steps {
		switch s := s.(type) {
		case string:
			p = append(p, step{name: s})
		case int:
			p = append(p, step{index: s})
		}
	}
	return p
}

// under gives the path of a value further in.
func (p fieldPath) under(steps ...any) fieldPath { return append(slices.Clip(p), at(steps...)...) }

func (p fieldPath) String() string {
	var b strings.Builder
	for i, s := range p {
		if s.name == "" {
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.name)
	}
	return b.String()
}

// within says that p is the value at outer or one inside it.
func (p fieldPath) within(outer fieldPath) bool {
	if len(p) < len(outer) {
		return false
	}
	for i := range outer {
		if p[i] != outer[i] {
			return false
		}
	}
	return true
}

// locate finds the node of a path, or the deepest one on the way to it that is
// there: the place to point at when a field is missing.
func locate(n *yaml.Node, p fieldPath) *yaml.Node {
	for _, s := range p {
		next := child(n, s)
		if next == nil {
			break
		}
		n = next
	}
	return n
}

func child(n *yaml.Node, s step) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.SequenceNode && s.name == "" && s.index < len(n.Content):
		return n.Content[s.index]
	case n.Kind == yaml.MappingNode && s.name != "":
		return lookup(n, s.name)
	}
	return nil
}

// lookup gives the value of a key of a mapping, or nil.
func lookup(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Kind == yaml.ScalarNode && n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}
