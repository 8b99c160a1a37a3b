package clients

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlText changes the text of a file in YAML: entries of one mapping below the top.
// A new one comes first in it, since its end is harder to tell than its beginning.
type yamlText struct{}

func (yamlText) parse(data []byte) (*node, error) { return parseYAML(data) }

// errYAML says that a file is written in a way that is not changed here.
var errYAML = errors.New("it is written in a way that has to be changed by hand")

// mapping is the one that entries are in, as it stands in a file.
type mapping struct {
	data       []byte
	lines      []int      // where each begins
	name       *yaml.Node // nil where there is none
	value      *yaml.Node
	rootIndent int
}

// openMapping finds the mapping of a name.
func openMapping(data []byte, name string) (*mapping, error) {
	root, err := yamlDocument(data)
	if err != nil {
		return nil, err
	}
	m := &mapping{data: data, lines: lineStarts(data)}
	switch {
	case root == nil:
		return m, nil
	case root.Kind != yaml.MappingNode:
		return nil, fmt.Errorf("line %d: the file is not an object", root.Line)
	case root.Style&yaml.FlowStyle != 0, len(root.Content) == 0:
		return nil, errYAML
	}
	m.rootIndent = root.Content[0].Column - 1
	for i := 0; i+1 < len(root.Content); i += 2 {
		if k := root.Content[i]; k.Value == name {
			m.name, m.value = k, root.Content[i+1]
		}
	}
	return m, nil
}

// lineStarts are where lines begin, as the parser counts them (YAML 1.1, 5.4): after
// line feed, carriage return, both, and the three that Unicode has besides.
func lineStarts(data []byte) []int {
	starts := []int{0}
	for i := range data {
		rest := data[i:]
		switch {
		case rest[0] == '\n', rest[0] == '\r' && !bytes.HasPrefix(rest, []byte("\r\n")):
			starts = append(starts, i+1)
		case bytes.HasPrefix(rest, []byte("\u0085")):
			starts = append(starts, i+len("\u0085"))
		case bytes.HasPrefix(rest, []byte("\u2028")), bytes.HasPrefix(rest, []byte("\u2029")):
			starts = append(starts, i+len("\u2028"))
		}
	}
	return starts
}

// offset is where a node begins. Columns count characters.
func (m *mapping) offset(n *yaml.Node) int {
	at := m.lines[n.Line-1]
	line := m.data[at:]
	for range n.Column - 1 {
		if len(line) == 0 {
			break
		}
		size := 1
		for size < len(line) && line[size]&0xc0 == 0x80 {
			size++
		}
		at, line = at+size, line[size:]
	}
	return at
}

// lineAfter is where the line after one begins, or the end of the file.
func (m *mapping) lineAfter(line int) int {
	if line < len(m.lines) {
		return m.lines[line]
	}
	return len(m.data)
}

func (m *mapping) flow() bool { return m.value.Style&yaml.FlowStyle != 0 }

// put adds an entry.
func (yamlText) put(data []byte, way []string, name string, value *node, r *Record) ([]byte, error) {
	m, err := openMapping(data, way[0])
	if err != nil {
		return nil, err
	}
	end := lineEnd(data)
	if m.name == nil {
		c := r.container(way)
		c.Made, c.Lead = true, ""
		if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
			c.Lead = end
		}
		indent := strings.Repeat(" ", m.rootIndent)
		text := c.Lead + indent + way[0] + ":" + end + writeYAMLEntry(name, value, indent+"  ", end)
		return append(bytes.Clone(data), text...), nil
	}
	switch v := m.value; {
	case v.Kind == yaml.MappingNode && m.flow():
		return m.putFlow(name, value)
	case v.Kind == yaml.MappingNode && v.Anchor == "":
		return m.putLines(name, value, v.Content[0].Column-1, r.container(way))
	case v.Kind == yaml.ScalarNode && v.ShortTag() == "!!null" && v.Value == "" && v.Anchor == "":
		return m.putLines(name, value, m.name.Column+1, r.container(way))
	case v.Kind == yaml.ScalarNode || v.Kind == yaml.SequenceNode:
		return nil, fmt.Errorf("line %d: %s is not an object", v.Line, way[0])
	}
	return nil, errYAML
}

// putLines puts an entry behind the line of the name of the mapping.
func (m *mapping) putLines(name string, value *node, indent int, c *Container) ([]byte, error) {
	end := lineEnd(m.data)
	at := m.lineAfter(m.name.Line)
	text := writeYAMLEntry(name, value, strings.Repeat(" ", indent), end)
	if at > 0 && m.data[at-1] != '\n' { // the last line has no end
		c.Lead = end
		text = end + strings.TrimSuffix(text, end)
	}
	return splice(m.data, at, at, text), nil
}

// putFlow puts an entry behind the opening brace.
func (m *mapping) putFlow(name string, value *node) ([]byte, error) {
	at := m.offset(m.value)
	if at >= len(m.data) || m.data[at] != '{' {
		return nil, errYAML
	}
	text := yamlScalar(name) + ": " + writeYAML(value)
	if len(m.value.Content) > 0 {
		text += ", "
	}
	return splice(m.data, at+1, at+1, text), nil
}

// writeYAMLEntry writes an entry in lines.
func writeYAMLEntry(name string, value *node, indent, end string) string {
	var b strings.Builder
	b.WriteString(indent + yamlScalar(name) + ":" + end)
	for _, m := range value.members {
		b.WriteString(indent + "  " + yamlScalar(m.name) + ": " + writeYAML(m.value) + end)
	}
	return b.String()
}

// writeYAML writes a value on one line.
func writeYAML(n *node) string {
	var parts []string
	switch n.kind {
	case list:
		for _, e := range n.items {
			parts = append(parts, writeYAML(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case object:
		for _, m := range n.members {
			parts = append(parts, yamlScalar(m.name)+": "+writeYAML(m.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case text:
		return yamlScalar(n.raw)
	}
	return n.canonical()
}

// yamlScalar writes a text, bare where nobody can take it for something else.
func yamlScalar(s string) string {
	plain := s != "" && !strings.HasPrefix(s, "-")
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./", r)) {
			plain = false
		}
	}
	var read yaml.Node
	if plain && yaml.Unmarshal([]byte(s), &read) == nil && len(read.Content) == 1 {
		// Other readers take yes and on for booleans, and 1_000 for a number.
		if read.Content[0].ShortTag() == "!!str" && !wordOfYAML1(s) && (s[0] < '0' || s[0] > '9') {
			return s
		}
	}
	return strconv.Quote(s)
}

// wordOfYAML1 says that YAML 1.1 takes a word for a boolean or nothing.
func wordOfYAML1(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return true
	}
	return false
}
