package clients

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML reads a file. The library checks it as a whole; the values are taken
// from its syntax tree, which has their order and their lines.
func parseTOML(data []byte) (*node, error) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	var checked map[string]any
	if err := toml.Unmarshal(data, &checked); err != nil {
		return nil, tomlError(err)
	}
	r := &tomlReader{lines: lineCounter{data: data, line: 1}}
	r.parser.Reset(data)
	root := objectNode()
	root.line = 1
	table := root
	for r.parser.NextExpression() {
		switch e := r.parser.Expression(); e.Kind {
		case unstable.Table:
			table = r.descend(root, e.Key())
		case unstable.ArrayTable:
			table = r.element(root, e.Key())
		case unstable.KeyValue:
			r.assign(table, e)
		}
	}
	return root, r.parser.Error()
}

// tomlError says where a mistake is.
func tomlError(err error) error {
	if d, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := d.Position()
		return fmt.Errorf("line %d, column %d: %s", line, column, d.Error()[len("toml: "):])
	}
	return err
}

type tomlReader struct {
	parser unstable.Parser
	lines  lineCounter
}

// place is where a node of the syntax tree begins.
func (r *tomlReader) place(n *unstable.Node) int { return int(n.Raw.Offset) }

// step goes to a table of a name, which is made where it is missing. Of a list of
// tables it is the last one.
func (r *tomlReader) step(table *node, key *unstable.Node) *node {
	name := string(key.Data)
	next := table.get(name)
	switch {
	case next == nil:
		next = &node{kind: object, line: r.lines.at(r.place(key))}
		table.with(name, next)
	case next.kind == list && len(next.items) > 0:
		next = next.items[len(next.items)-1]
	}
	return next
}

func (r *tomlReader) descend(table *node, keys unstable.Iterator) *node {
	for keys.Next() {
		table = r.step(table, keys.Node())
	}
	return table
}

// element begins a new table of a list of them.
func (r *tomlReader) element(table *node, keys unstable.Iterator) *node {
	for keys.Next() {
		key := keys.Node()
		if !keys.IsLast() {
			table = r.step(table, key)
			continue
		}
		name := string(key.Data)
		all := table.get(name)
		if all == nil {
			all = &node{kind: list, line: r.lines.at(r.place(key))}
			table.with(name, all)
		}
		table = &node{kind: object, line: r.lines.at(r.place(key))}
		all.items = append(all.items, table)
	}
	return table
}

// assign takes in "key = value".
func (r *tomlReader) assign(table *node, e *unstable.Node) {
	for keys := e.Key(); keys.Next(); {
		key := keys.Node()
		line := r.lines.at(r.place(key))
		if keys.IsLast() {
			value := r.value(e.Value())
			value.line = line
			table.with(string(key.Data), value)
			return
		}
		table = r.step(table, key)
	}
}

func (r *tomlReader) value(v *unstable.Node) *node {
	n := &node{raw: string(v.Data), line: r.lines.line}
	switch v.Kind {
	case unstable.Array:
		n.kind, n.raw = list, ""
		for it := v.Children(); it.Next(); {
			n.items = append(n.items, r.value(it.Node()))
		}
	case unstable.InlineTable:
		n.kind, n.raw = object, ""
		for it := v.Children(); it.Next(); {
			r.assign(n, it.Node())
		}
	case unstable.Bool:
		n.kind = truth
	case unstable.Integer, unstable.Float:
		n.kind = number
	default: // dates are texts as they are written
		n.kind = text
	}
	return n
}
