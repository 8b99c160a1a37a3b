package main

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"
)

// table is rows of cells that are laid out in columns, two blanks apart. The
// first row is the head. A cell may hold any text: it is made harmless to a
// terminal.
type table struct{ rows [][]string }

func (t *table) add(cells ...string) {
	for i := range cells {
		if cells[i] = oneLine(cells[i]); cells[i] == "" {
			cells[i] = "-"
		}
	}
	t.rows = append(t.rows, cells)
}

// write pads every cell but the last of a row to the width of its column.
func (t *table) write(w io.Writer) error {
	var width []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	b := bufio.NewWriter(w)
	for _, row := range t.rows {
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		b.WriteByte('\n')
	}
	return b.Flush()
}
