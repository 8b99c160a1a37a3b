package clients

import (
	"bytes"
	"strings"
)

// jsonText changes the text of a file in JSON, with comments or without. What is put
// in is laid out as its neighbours are.
type jsonText struct{}

// emptyJSON is what a blank file begins with.
const emptyJSON = "{}"

func (jsonText) parse(data []byte) (*node, error) { return parseJSON(data) }

// put adds an entry below the objects that a way of names leads to, which are made
// where they are missing.
func (jsonText) put(data []byte, way []string, name string, value *node, r *Record) ([]byte, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		r.Start = emptyJSON + lineEnd(data)
		data = append(bytes.Clone(data), r.Start...)
	}
	root, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	at := root
	for i, step := range way {
		next := at.get(step)
		if next == nil {
			for j := len(way) - 1; j > i; j-- {
				value, name = objectNode().with(name, value), way[j]
				r.container(way[:j+1]).Made = true
			}
			value, name = objectNode().with(name, value), step
			r.container(way[:i+1]).Made = true
			return insertJSON(data, root, at, name, value, r.container(way[:i]))
		}
		if next.kind != object {
			return nil, next.wrong(strings.Join(way[:i+1], "."), "an object")
		}
		at = next
	}
	return insertJSON(data, root, at, name, value, r.container(way))
}

// layout is how the members of an object stand.
type layout struct {
	between string // what stands before each: a line end and the indentation, or blanks
	step    string // one level of indentation
}

// insertJSON adds a member as the last one of an object, behind the comments that
// belong to the one before it.
func insertJSON(data []byte, root, at *node, name string, value *node, c *Container) ([]byte, error) {
	inner := at.end - 1 // the brace
	from, comma := at.start+1, true
	if last := len(at.members) - 1; last >= 0 {
		from = at.members[last].value.end
		comma = false
	}
	gap := readGap(data, from, inner)
	behind := from
	if gap.comma >= 0 {
		behind, comma = gap.comma+1, true
	}
	trailing := gap.comma >= 0
	behind = max(behind, gap.comments)
	look := layoutOf(data, root, at)
	if gap.line && !strings.Contains(look.between, "\n") {
		look.between = lineEnd(data) + indentAt(data, at.start) + look.step
	}
	text := look.between + writeMember(name, value, look)
	if trailing {
		text += ","
	}
	if len(at.members) == 0 && strings.Contains(look.between, "\n") && !bytes.Contains(data[behind:inner], []byte("\n")) {
		c.Tail = lineEnd(data) + indentAt(data, at.start)
		text += c.Tail
	}
	out := bytes.Clone(data[:from])
	if !comma {
		out = append(out, ',')
	}
	out = append(out, data[from:behind]...)
	out = append(out, text...)
	return append(out, data[behind:]...), nil
}

// gap is what stands between two members, or behind the last one.
type gap struct {
	comma    int  // where the comma is; -1 for none
	comments int  // where the last comment ends; -1 for none
	line     bool // the last comment ends with its line
}

func readGap(data []byte, from, to int) gap {
	g := gap{comma: -1, comments: -1}
	for i := from; i < to; i++ {
		rest := data[i:to]
		switch {
		case bytes.HasPrefix(rest, []byte("//")):
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			g.comments, g.line = i+len(bytes.TrimRight(rest[:end], " \t\r")), true
			i += end
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			g.comments, g.line = i+end+4, false
			i += end + 3
		case rest[0] == ',':
			g.comma = i
		}
	}
	return g
}

// layoutOf finds out how the members of an object stand: as the last one does; and
// where there is none, on lines of their own, unless the whole file is one line.
func layoutOf(data []byte, root, at *node) layout {
	look := layout{step: "  "}
	if len(root.members) > 0 {
		if b := blankBefore(data, root.members[0].at); strings.Contains(b, "\n") {
			if step := b[strings.LastIndexByte(b, '\n')+1:]; step != "" {
				look.step = step
			}
		}
	}
	if last := len(at.members) - 1; last >= 0 {
		look.between = blankBefore(data, at.members[last].at)
		if strings.Contains(look.between, "\n") {
			look.between = lineEnd(data) + look.between[strings.LastIndexByte(look.between, '\n')+1:]
		}
		return look
	}
	if at != root && !bytes.Contains(data[root.start:root.end], []byte("\n")) {
		return look
	}
	look.between = lineEnd(data) + indentAt(data, at.start) + look.step
	return look
}

// blankBefore is the white space before a place.
func blankBefore(data []byte, at int) string {
	return string(data[len(bytes.TrimRight(data[:at], " \t\r\n")):at])
}

// indentAt is the indentation of the line of a place.
func indentAt(data []byte, at int) string {
	line := data[bytes.LastIndexByte(data[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// lineEnd is how the lines of a text end: as the first one does.
func lineEnd(data []byte) string {
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// writeMember writes a member in a layout.
func writeMember(name string, value *node, look layout) string {
	colon := ": "
	if look.between == "" {
		colon = ":"
	}
	return quoteJSON(name) + colon + writeJSON(value, look)
}

// writeJSON writes a value. Objects have a line for each member where the layout has
// lines; lists stand on one.
func writeJSON(n *node, look layout) string {
	var b strings.Builder
	blank := look.between
	switch n.kind {
	case object:
		inner := look
		if strings.Contains(blank, "\n") {
			inner.between += look.step
		}
		b.WriteByte('{')
		for i, m := range n.members {
			separate(&b, i)
			if i > 0 || inner.between != blank {
				b.WriteString(inner.between)
			}
			b.WriteString(writeMember(m.name, m.value, inner))
		}
		if inner.between != blank && len(n.members) > 0 {
			b.WriteString(blank)
		}
		b.WriteByte('}')
	case list:
		b.WriteByte('[')
		for i, e := range n.items {
			separate(&b, i)
			if i > 0 && blank != "" {
				b.WriteByte(' ')
			}
			b.WriteString(writeJSON(e, layout{between: strings.TrimLeft(blank, "\r\n\t"), step: look.step}))
		}
		b.WriteByte(']')
	default:
		return n.canonical()
	}
	return b.String()
}

// replace puts another value in the place of an entry's.
func (jsonText) replace(data []byte, way []string, name string, value *node) ([]byte, error) {
	root, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	at := root.get(way...)
	i := at.index(name)
	old := at.members[i].value
	look := layoutOf(data, root, at)
	if look.between = blankBefore(data, at.members[i].at); strings.Contains(look.between, "\n") {
		look.between = lineEnd(data) + look.between[strings.LastIndexByte(look.between, '\n')+1:]
	}
	return splice(data, old.start, old.end, writeJSON(value, look)), nil
}

// index is the place of a member; -1 for none.
func (n *node) index(name string) int {
	if n == nil || n.kind != object {
		return -1
	}
	for i := range n.members {
		if n.members[i].name == name {
			return i
		}
	}
	return -1
}

func splice(data []byte, from, to int, text string) []byte {
	out := append(bytes.Clone(data[:from]), text...)
	return append(out, data[to:]...)
}
