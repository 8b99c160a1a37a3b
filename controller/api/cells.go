package api

import (
	"encoding/json"
	"strings"
)

// Cells are the cells of a table, row by row. They are read without reflection and
// without a copy of each: of a thousand workloads that is most of what the answer
// costs who asked.
type Cells [][]string

// UnmarshalJSON implements json.Unmarshaler.
func (c *Cells) UnmarshalJSON(text []byte) error {
	r := cellReader{rest: string(text)}
	rows, ok := r.rows()
	if ok {
		*c = rows
		return nil
	}
	return json.Unmarshal(text, (*[][]string)(c)) // which says what is wrong, too
}

// cellReader reads an array of arrays of strings. The strings are parts of the text.
type cellReader struct{ rest string }

// rows is not ok for what is anything else.
func (r *cellReader) rows() (rows [][]string, ok bool) {
	// A cell that has such characters in it asks for too much room, which does no harm.
	all := make([]string, 0, strings.Count(r.rest, `",`)+strings.Count(r.rest, `"]`))
	rows = make([][]string, 0, strings.Count(r.rest, "]"))
	if !r.take('[') {
		return nil, false
	}
	for !r.take(']') {
		if len(rows) > 0 && !r.take(',') || !r.take('[') {
			return nil, false
		}
		first := len(all)
		for !r.take(']') {
			if len(all) > first && !r.take(',') {
				return nil, false
			}
			cell, ok := r.text()
			if !ok {
				return nil, false
			}
			all = append(all, cell)
		}
		rows = append(rows, all[first:len(all):len(all)])
	}
	return rows, r.blank() == ""
}

// blank leaves out white space.
func (r *cellReader) blank() string {
	r.rest = strings.TrimLeft(r.rest, " \t\r\n")
	return r.rest
}

// take takes a character if it comes next.
func (r *cellReader) take(c byte) bool {
	if next := r.blank(); next == "" || next[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// text takes a string.
func (r *cellReader) text() (string, bool) {
	if !r.take('"') {
		return "", false
	}
	end := strings.IndexAny(r.rest, `"\\`)
	if end < 0 {
		return "", false
	}
	if r.rest[end] == '\\' {
		return r.escaped()
	}
	text := r.rest[:end]
	r.rest = r.rest[end+1:]
	return text, true
}

// escaped takes the rest of a string that has escapes in it.
func (r *cellReader) escaped() (text string, ok bool) {
	for end := 0; end < len(r.rest); end++ {
		switch r.rest[end] {
		case '\\':
			end++
		case '"':
			err := json.Unmarshal([]byte(`"`+r.rest[:end+1]), &text)
			r.rest = r.rest[end+1:]
			return text, err == nil
		}
	}
	return "", false
}
