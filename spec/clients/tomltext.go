package clients

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlText changes the text of a file in TOML. An entry is a table with a header of
// its own; a new one comes at the end of the file, where every table may stand.
type tomlText struct{}

func (tomlText) parse(data []byte) (*node, error) { return parseTOML(data) }

// put adds an entry, with a blank line before it.
func (tomlText) put(data []byte, way []string, name string, value *node, r *Record) ([]byte, error) {
	end := lineEnd(data)
	lead := ""
	if len(data) > 0 {
		if !bytes.HasSuffix(data, []byte("\n")) {
			lead = end
		}
		if rest := bytes.TrimRight(data, " \t\r\n"); len(rest) > 0 && bytes.Count(data[len(rest):], []byte("\n")) < 2 {
			lead += end
		}
	}
	r.Entries[name].Lead = lead
	return append(append(bytes.Clone(data), lead...), writeTable(way, name, value, end)...), nil
}

// writeTable writes an entry.
func writeTable(way []string, name string, value *node, end string) string {
	var b strings.Builder
	words := make([]string, 0, len(way)+1)
	for _, w := range append(slices.Clone(way), name) {
		words = append(words, tomlKey(w))
	}
	b.WriteString("[" + strings.Join(words, ".") + "]" + end)
	for _, m := range value.members {
		b.WriteString(tomlKey(m.name) + " = " + writeTOML(m.value) + end)
	}
	return b.String()
}

// tomlKey writes a key, bare where that is allowed.
func tomlKey(k string) string {
	bare := func(r rune) bool {
		return r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if k != "" && strings.IndexFunc(k, func(r rune) bool { return !bare(r) }) < 0 {
		return k
	}
	return quoteTOML(k)
}

// quoteTOML writes a basic string. Its escapes are those of JSON, and DEL.
func quoteTOML(s string) string { return strings.ReplaceAll(quoteJSON(s), "\x7f", `\u007F`) }

func writeTOML(n *node) string {
	var parts []string
	switch n.kind {
	case list:
		for _, e := range n.items {
			parts = append(parts, writeTOML(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case object:
		for _, m := range n.members {
			parts = append(parts, tomlKey(m.name)+" = "+writeTOML(m.value))
		}
		if len(parts) == 0 {
			return "{}"
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case text:
		return quoteTOML(n.raw)
	}
	return n.raw
}

// errTable says that an entry does not stand in a table of its own.
var errTable = errors.New("it is not written as a table with a header of its own, and so has to be changed by hand")

// replace puts another table in the place of an entry.
func (tomlText) replace(data []byte, way []string, name string, value *node) ([]byte, error) {
	tables, err := tablesOf(data, append(slices.Clone(way), name))
	if err != nil {
		return nil, err
	}
	for _, t := range slices.Backward(tables[1:]) {
		data = splice(data, t.from, t.to, "")
	}
	text := writeTable(way, name, value, lineEnd(data))
	if t := tables[0]; !bytes.HasSuffix(data[t.from:t.to], []byte("\n")) {
		text = strings.TrimRight(text, "\r\n")
	}
	return splice(data, tables[0].from, tables[0].to, text), nil
}

// cut takes an entry out, with what was put before it. An entry of ours that follows
// takes that over.
func (tomlText) cut(data []byte, way []string, name string, r *Record) ([]byte, error) {
	tables, err := tablesOf(data, append(slices.Clone(way), name))
	if err != nil {
		return nil, err
	}
	for _, t := range slices.Backward(tables[1:]) {
		data = splice(data, t.from, t.to, "")
	}
	t, lead := tables[0], r.Entries[name].Lead
	if len(tables) > 1 {
		if tables, err = tablesOf(data, append(slices.Clone(way), name)); err != nil {
			return nil, err
		}
		t = tables[0]
	}
	if next := follower(data, way, t.to, r); next != nil {
		t.to += len(next.Lead)
		next.Lead = lead
		return splice(data, t.from, t.to, ""), nil
	}
	from := t.from
	if bytes.HasSuffix(data[:from], []byte(lead)) {
		from -= len(lead)
	}
	if from > 0 && data[from-1] != '\n' && t.to < len(data) {
		from = t.from // the line before has to end
	}
	return splice(data, from, t.to, ""), nil
}

// follower is the entry of ours that comes next, with nothing but what was put
// before it in between.
func follower(data []byte, way []string, at int, r *Record) *Owned {
	for name, o := range r.Entries {
		tables, err := tablesOf(data, append(slices.Clone(way), name))
		if err == nil && tables[0].from == at+len(o.Lead) && string(data[at:tables[0].from]) == o.Lead {
			return o
		}
	}
	return nil
}

// extent is a part of a text.
type extent struct{ from, to int }

// tablesOf finds the table of an entry and those below it, from their headers to
// the last line that is about them.
func tablesOf(data []byte, way []string) (found []extent, err error) {
	var p unstable.Parser
	p.Reset(data)
	open := -1 // where a table of the entry begins
	finish := func(end int) {
		if open >= 0 {
			found = append(found, extent{open, lastLine(data, open, end)})
		}
		open = -1
	}
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		var words []string
		at := -1
		for keys := e.Key(); keys.Next(); {
			if at < 0 {
				at = int(keys.Node().Raw.Offset)
			}
			words = append(words, string(keys.Node().Data))
		}
		begin := bytes.LastIndexByte(data[:at], '\n') + 1
		finish(begin)
		if len(words) >= len(way) && slices.Equal(words[:len(way)], way) {
			open = begin
		}
	}
	finish(len(data))
	if err := p.Error(); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: %w", strings.Join(way, "."), errTable)
	}
	return found, nil
}

// lastLine is the end of the last line from a place on that is neither blank nor a
// comment: those belong to what comes after.
func lastLine(data []byte, from, to int) int {
	end := from
	for at := from; at < to; {
		length := bytes.IndexByte(data[at:to], '\n') + 1
		if length == 0 {
			length = to - at
		}
		line := bytes.TrimSpace(data[at : at+length])
		at += length
		if len(line) > 0 && line[0] != '#' {
			end = at
		}
	}
	return end
}
