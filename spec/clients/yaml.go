package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/proc-controller/proc-controller/spec"
)

// maxYAMLNodes bounds what aliases can make of a file.
const maxYAMLNodes = 200_000

// parseYAML reads a file with one document. A blank one is an empty object.
func parseYAML(data []byte) (*node, error) {
	doc, err := yamlDocument(data)
	if err != nil {
		return nil, err
	}
	if doc == nil {
		return &node{kind: object, line: 1}, nil
	}
	left := maxYAMLNodes
	n := fromYAML(doc, &left)
	if left < 0 {
		return nil, errors.New("line 1: its aliases make too much of it")
	}
	return n, nil
}

// yamlDocument gives the value of the only document; nil of a blank file.
func yamlDocument(data []byte) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil { // the library panics where it meets its own mistakes
			root, err = nil, fmt.Errorf("cannot parse it: %v", r)
		}
	}()
	data = bytes.TrimPrefix(data, byteOrderMark)
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, spec.SyntaxError(data, err)
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		return nil, fmt.Errorf("line %d: a second document begins", more.Line)
	case !errors.Is(err, io.EOF):
		return nil, spec.SyntaxError(data, err)
	}
	return doc.Content[0], nil
}

// fromYAML reads a value, and counts down what may still be read.
func fromYAML(y *yaml.Node, left *int) *node {
	n := &node{line: y.Line}
	if *left--; *left < 0 {
		return n
	}
	switch y.Kind {
	case yaml.AliasNode:
		return fromYAML(y.Alias, left)
	case yaml.SequenceNode:
		n.kind = list
		for _, e := range y.Content {
			n.items = append(n.items, fromYAML(e, left))
		}
	case yaml.MappingNode:
		n.kind = object
		for i := 0; i+1 < len(y.Content); i += 2 {
			n.with(y.Content[i].Value, fromYAML(y.Content[i+1], left))
		}
	default:
		n.raw = y.Value
		switch y.ShortTag() {
		case "!!null":
			n.kind, n.raw = null, ""
		case "!!bool":
			n.kind, n.raw = truth, strings.ToLower(y.Value)
		case "!!int", "!!float":
			n.kind = number
		default:
			n.kind = text
		}
	}
	return n
}
