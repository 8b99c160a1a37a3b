package main

import (
	"bufio"
	"strings"
	"unicode/utf8"
)

// minLast is the width that the last column needs to be broken into lines beside
// the others; below it the last cell has lines of its own.
const minLast = 24

// layout is how the rows of a table are written where it has so much room.
type layout struct {
	out     *bufio.Writer
	look    terminal
	width   []int
	head    []string
	tint    func(column, cell string) string
	columns int // of the terminal, 0 for no bounds
	// before is the width of all columns but the last, with the blanks.
	before int
	// fits says that every row has its line; records that not even the columns
	// before the last one fit, so that each cell has a line.
	fits, records bool
}

func (t *table) layout(out *bufio.Writer, look terminal, columns int) layout {
	l := layout{out: out, look: look, width: t.width, head: t.head, tint: t.tint, columns: columns}
	last := len(t.width) - 1
	for _, w := range t.width[:max(last, 0)] {
		l.before += w + 2
	}
	l.fits = columns == 0 || last < 0 || l.before+t.width[last] <= columns
	l.records = !l.fits && l.before > columns
	return l
}

// cell gives a cell in its colour.
func (l *layout) cell(i int, text string, tinted bool) string {
	if l.tint == nil || !tinted || i >= len(l.head) {
		return text
	}
	return l.look.paint(l.tint(l.head[i], text), text)
}

// row writes the cells beside each other. The last one is not filled up, and is
// broken into lines where it does not fit.
func (l *layout) row(cells []string, tinted bool) {
	last := len(cells) - 1
	for i, text := range cells[:max(last, 0)] {
		l.out.WriteString(l.cell(i, text, tinted))
		for range l.width[i] + 2 - utf8.RuneCountInString(text) {
			l.out.WriteByte(' ')
		}
	}
	if last >= 0 {
		l.end(last, cells[last], tinted)
	}
	l.out.WriteByte('\n')
}

// end writes the last cell of a row.
func (l *layout) end(i int, text string, tinted bool) {
	room := l.columns - l.before
	switch {
	case text == "-" && !l.fits && room < 1:
	case l.fits || utf8.RuneCountInString(text) <= room:
		l.out.WriteString(l.cell(i, text, tinted))
	case room >= minLast:
		l.lines(wrapped(text, room), "", l.before)
	default:
		const indent = 4
		l.out.WriteByte('\n')
		l.lines(wrapped(text, l.columns-indent), strings.Repeat(" ", indent), indent)
	}
}

// lines writes the lines of one cell, the first after a prefix, the others below
// it.
func (l *layout) lines(lines []string, prefix string, indent int) {
	for i, line := range lines {
		if i > 0 {
			l.out.WriteByte('\n')
			prefix = strings.Repeat(" ", indent)
		}
		l.out.WriteString(prefix + line)
	}
}

// record writes the cells below each other, each after the head of its column,
// and a blank line. Cells that say nothing are left out.
func (l *layout) record(head, cells []string) {
	for i, text := range cells {
		if text == "-" {
			continue
		}
		label := head[i] + " "
		room := l.columns - utf8.RuneCountInString(label)
		if utf8.RuneCountInString(text) <= room {
			l.out.WriteString(l.look.paint(dim, label) + l.cell(i, text, true) + "\n")
			continue
		}
		const indent = 2
		l.out.WriteString(l.look.paint(dim, head[i]) + "\n")
		l.lines(wrapped(text, l.columns-indent), strings.Repeat(" ", indent), indent)
		l.out.WriteByte('\n')
	}
	l.out.WriteByte('\n')
}
