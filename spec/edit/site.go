package edit

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/proc-controller/proc-controller/spec"
)

// site is where in the text of a document a field stands, or would stand.
type site struct {
	text []byte
	json bool // names of fields are in double quotes
	// owner is the name of what the field lies in, and parent its content; owner
	// is nil at the top.
	owner, parent *yaml.Node
	// name and value are the field; nil where it is not there. next is the name of
	// the field after it.
	name, value, next *yaml.Node
}

// locate follows a path through the nodes of a document.
func locate(file string, text []byte, path []string) (*site, error) {
	parsed := text
	if isJSON(file) {
		parsed = withoutEscapes(text)
	}
	root, err := spec.Nodes(parsed)
	if err != nil || root == nil {
		return nil, errUnforeseen
	}
	s := &site{text: text, json: isJSON(file), parent: root}
	for i, name := range path {
		if s.parent.Kind != yaml.MappingNode {
			return nil, errUnforeseen
		}
		s.step(name)
		if i == len(path)-1 {
			break
		}
		switch {
		case s.value == nil:
			return nil, fmt.Errorf("there is no %s to set it in", name)
		case s.value.Kind == yaml.AliasNode:
			return nil, fmt.Errorf("%s is an alias there, and the change would be one elsewhere: change it by hand", name)
		}
		s.owner, s.parent = s.name, s.value
	}
	return s, nil
}

// step looks for a field of the parent.
func (s *site) step(name string) {
	s.name, s.value, s.next = nil, nil, nil
	for i := 0; i+1 < len(s.parent.Content); i += 2 {
		if s.parent.Content[i].Value != name || s.parent.Content[i].Tag == "!!merge" {
			continue
		}
		s.name, s.value = s.parent.Content[i], s.parent.Content[i+1]
		if i+2 < len(s.parent.Content) {
			s.next = s.parent.Content[i+2]
		}
		return
	}
}

// withoutEscapes puts other characters, as many, in the place of the escapes that
// JSON has and YAML has not: only the places of what stands around them count.
func withoutEscapes(text []byte) []byte {
	out := bytes.Clone(text)
	for i := 0; i+1 < len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		switch {
		case out[i+1] == '/':
			out[i] = 'x'
		case out[i+1] == 'u' && i+6 <= len(out):
			copy(out[i:i+6], "xxxxxx")
		}
		i++
	}
	return out
}

var errPlace = errors.New("its place in the file cannot be told: change it by hand")

// offset gives the byte at which a node begins. The parser counts lines by all
// line breaks of YAML 1.1, and columns in characters.
func (s *site) offset(n *yaml.Node) (int, error) {
	at := 0
	for line := 1; line < n.Line; line++ {
		length := lineLength(s.text[at:])
		if length == 0 {
			return 0, errPlace
		}
		at += length
	}
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(s.text[at:])
		if size == 0 {
			return 0, errPlace
		}
		at += size
	}
	return at, nil
}

// lineLength is the length of the first line with its break; 0 where there is
// none.
func lineLength(text []byte) int {
	i := bytes.IndexAny(text, "\r\n\u0085\u2028\u2029")
	if i < 0 {
		return 0
	}
	if bytes.HasPrefix(text[i:], []byte("\r\n")) {
		return i + 2
	}
	_, size := utf8.DecodeRune(text[i:])
	return i + size
}

// end gives the byte after a scalar, or an alias, that begins at a place and
// stands on one line.
func (s *site) end(n *yaml.Node, at int) (int, error) {
	at += properties(s.text[at:])
	rest := s.text[at:]
	length := -1
	switch {
	case n.Kind == yaml.AliasNode && bytes.HasPrefix(rest, []byte("*"+n.Value)):
		length = len("*" + n.Value)
	case n.Kind != yaml.ScalarNode:
	case n.Style&yaml.DoubleQuotedStyle != 0:
		length = quoted(rest, '"')
	case n.Style&yaml.SingleQuotedStyle != 0:
		length = quoted(rest, '\'')
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
	case n.Value != "" && bytes.HasPrefix(rest, []byte(n.Value)):
		length = len(n.Value)
	}
	if length < 0 {
		return 0, errUnforeseen
	}
	return at + length, nil
}

// properties is the length of the anchor and the tag before a value.
func properties(text []byte) int {
	at := 0
	for at < len(text) && (text[at] == '&' || text[at] == '!') {
		word := bytes.IndexAny(text[at:], " \t\r\n")
		if word < 0 {
			return at
		}
		at += word
		at += len(text[at:]) - len(bytes.TrimLeft(text[at:], " \t"))
	}
	return at
}

// quoted is the length of a quoted text with its quotes, or -1.
func quoted(text []byte, quote byte) int {
	if len(text) == 0 || text[0] != quote {
		return -1
	}
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return -1
}

// fieldName writes the name of a new field as those beside it are.
func (s *site) fieldName(name string) string {
	if s.json || s.flow() && len(s.parent.Content) > 0 && s.parent.Content[0].Style&yaml.DoubleQuotedStyle != 0 {
		return `"` + name + `"`
	}
	return name
}

// flow says that the parent is written in braces.
func (s *site) flow() bool { return s.parent.Style&yaml.FlowStyle != 0 }

// indent is how far the fields of the parent are indented.
func (s *site) indent() string { return strings.Repeat(" ", s.parent.Content[0].Column-1) }
