package main

import (
	"bufio"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// table is rows of cells that are laid out in columns, two blanks apart. The
// first row is the head. A cell may hold any text: it is made harmless to a
// terminal.
//
// What is too wide for a terminal is laid out in another way, and nothing is left
// out of it; a file or a pipe gets one line for each row, always.
type table struct {
	head  []string
	rows  [][]string
	width []int // of each column, the most that was ever in it
	// headless has the head left out: it is not wanted, or was written before.
	headless bool
	// tint gives the colour of a cell, if the terminal has colours; nil for none.
	tint func(column, cell string) string
}

func (t *table) add(cells ...string) {
	for i := range cells {
		if cells[i] = oneLine(cells[i]); cells[i] == "" {
			cells[i] = "-"
		}
		if i == len(t.width) {
			t.width = append(t.width, 0)
		}
		t.width[i] = max(t.width[i], utf8.RuneCountInString(cells[i]))
	}
	if t.head == nil {
		t.head = cells
		return
	}
	t.rows = append(t.rows, cells)
}

// write writes what was added since it was called last. What comes later has no
// head any more, and the columns where they were, if they are wide enough.
func (t *table) write(w io.Writer) error {
	look := terminalOf(w, os.Getenv)
	columns, _ := look.size()
	return t.writeFor(w, look, columns)
}

// writeFor writes for a terminal with so many columns; zero is no terminal.
func (t *table) writeFor(w io.Writer, look terminal, columns int) error {
	b := bufio.NewWriter(w)
	l := t.layout(b, look, columns)
	if !t.headless && !l.records {
		l.row(t.head, false)
	}
	for _, row := range t.rows {
		if l.records {
			l.record(t.head, row)
			continue
		}
		l.row(row, true)
	}
	t.rows, t.headless = nil, true
	return b.Flush()
}

// pad fills a text up with blanks to a width.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0))
}
