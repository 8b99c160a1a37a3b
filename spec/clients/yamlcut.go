package clients

import (
	"bytes"

	"go.yaml.in/yaml/v3"
)

// entry finds an entry: its name, its value, and the name of the one behind it.
func (m *mapping) entry(name string) (key, value, next *yaml.Node) {
	if m.value == nil || m.value.Kind != yaml.MappingNode {
		return nil, nil, nil
	}
	c := m.value.Content
	for i := 0; i+1 < len(c); i += 2 {
		if c[i].Value != name {
			continue
		}
		if i+2 < len(c) {
			next = c[i+2]
		}
		return c[i], c[i+1], next
	}
	return nil, nil, nil
}

// extent is where an entry stands: its lines, or what is between two commas.
func (m *mapping) extent(name string) (extent, error) {
	key, value, next := m.entry(name)
	if key == nil || key.Anchor != "" {
		return extent{}, errYAML
	}
	if m.flow() {
		from := m.offset(key)
		to := flowEnd(m.data, m.offset(value))
		if next != nil { // the comma, and the blank that put sets
			to += len(",")
			if to < m.offset(next) && m.data[to] == ' ' {
				to++
			}
		}
		return extent{from, to}, nil
	}
	from := m.lines[key.Line-1]
	if len(bytes.TrimLeft(m.data[from:m.offset(key)], " ")) > 0 {
		return extent{}, errYAML
	}
	return extent{from, m.lineAfter(lastLineOf(value))}, nil
}

// lastLineOf is the last line on which a part of a value begins.
func lastLineOf(n *yaml.Node) int {
	last := n.Line
	for _, c := range n.Content {
		last = max(last, lastLineOf(c))
	}
	return last
}

// flowEnd is where a value between braces ends.
func flowEnd(data []byte, at int) int {
	depth, quote := 0, byte(0)
	for i := at; i < len(data); i++ {
		switch c := data[i]; {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case c == ',' && depth == 0:
			return i
		}
	}
	return len(data)
}

// replace puts another value in the place of an entry.
func (yamlText) replace(data []byte, way []string, name string, value *node) ([]byte, error) {
	m, err := openMapping(data, way[0])
	if err != nil {
		return nil, err
	}
	e, err := m.extent(name)
	if err != nil {
		return nil, err
	}
	key, old, _ := m.entry(name)
	if m.flow() {
		from := m.offset(old)
		return splice(data, from, flowEnd(data, from), writeYAML(value)), nil
	}
	end := lineEnd(data)
	text := writeYAMLEntry(name, value, string(data[e.from:m.offset(key)]), end)
	if e.to > 0 && data[e.to-1] != '\n' {
		text = text[:len(text)-len(end)]
	}
	return splice(data, e.from, e.to, text), nil
}

// cut takes an entry out, and the mapping where that was made for it.
func (yamlText) cut(data []byte, way []string, name string, r *Record) ([]byte, error) {
	m, err := openMapping(data, way[0])
	if err != nil {
		return nil, err
	}
	e, err := m.extent(name)
	if err != nil {
		return nil, err
	}
	c := r.container(way)
	_, _, next := m.entry(name)
	only := len(m.value.Content) == 2
	switch {
	case m.flow():
		if next == nil && len(m.value.Content) > 2 { // the comma before it
			e.from = len(bytes.TrimRight(data[:e.from], " \t\r\n"))
			if e.from > 0 && data[e.from-1] == ',' {
				e.from--
			}
		}
		return splice(data, e.from, e.to, ""), nil
	case only && c.Made:
		e.from = m.lines[m.name.Line-1]
	}
	// The end of a line that had none belongs to what came behind it.
	leads := only && c.Made || !c.Made && !bytes.HasSuffix(data, []byte("\n"))
	if leads && e.to == len(data) && bytes.HasSuffix(data[:e.from], []byte(c.Lead)) {
		e.from -= len(c.Lead)
	}
	if only {
		delete(r.Containers, key(way))
	}
	return splice(data, e.from, e.to, ""), nil
}
