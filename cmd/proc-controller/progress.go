package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// progress shows how something goes on: in a terminal as a block of lines that is
// written over, elsewhere as one plain line for whatever has changed. One
// goroutine uses it.
type progress struct {
	out   io.Writer
	term  terminal
	moves bool
	block []string          // that stands now
	said  map[string]string // what a plain line has said last of each
}

// progressLine is what is to be said of one thing.
type progressLine struct {
	name, text string
	colour     string // of the text; empty for none
}

// newProgress shows on w, which is stderr as a rule: stdout is for the result.
func newProgress(w io.Writer) *progress {
	t := terminalOf(w, os.Getenv)
	return &progress{out: w, term: t, moves: t.moves(os.Getenv), said: map[string]string{}}
}

// show replaces what was shown. It is called as often as one likes; nothing is
// written where nothing has changed.
func (p *progress) show(lines []progressLine) {
	if !p.moves {
		p.tell(lines)
		return
	}
	columns, rows := p.term.size()
	if block := p.lay(lines, columns, rows); !slices.Equal(block, p.block) {
		p.replace(block)
	}
}

// clear takes away what was shown last, where that is possible.
func (p *progress) clear() {
	if len(p.block) > 0 {
		p.replace(nil)
	}
}

// tell writes what has changed, a line each.
func (p *progress) tell(lines []progressLine) {
	for _, l := range lines {
		text := oneLine(l.text)
		if p.said[l.name] == text {
			continue
		}
		p.said[l.name] = text
		fmt.Fprintf(p.out, "%s: %s\n", oneLine(l.name), p.term.paint(l.colour, text))
	}
}

// lay lays lines out, cut to the terminal: a block that is higher than it could
// not be written over.
func (p *progress) lay(lines []progressLine, columns, rows int) []string {
	columns = cmp.Or(columns, 80)
	room := max(cmp.Or(rows, 24)-1, 1)
	more := 0
	if len(lines) > room {
		more = len(lines) - room + 1
		lines = lines[:len(lines)-more]
	}
	width := 0
	for _, l := range lines {
		width = max(width, len([]rune(oneLine(l.name))))
	}
	width = min(width, columns/2)
	var block []string
	for _, l := range lines {
		name := shortened(oneLine(l.name), width)
		text := shortened(oneLine(l.text), max(columns-width-2, 1))
		block = append(block, pad(name, width+2)+p.term.paint(l.colour, text))
	}
	if more > 0 {
		block = append(block, shortened(fmt.Sprintf("and %d more", more), columns))
	}
	return block
}

// The sequences that a block is written over with (ECMA-48; DECAWM of the VT100).
// Without the wrapping at the margin no line can take two rows, whatever width
// the terminal gives its characters.
const (
	wrapOff   = "\x1b[?7l"
	wrapOn    = "\x1b[?7h"
	clearLine = "\x1b[K"
	clearRest = "\x1b[J"
)

// replace writes a block over the one that stands, in one piece.
func (p *progress) replace(block []string) {
	var b strings.Builder
	b.WriteString(wrapOff)
	if len(p.block) > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", len(p.block))
	}
	b.WriteByte('\r')
	for _, line := range block {
		b.WriteString(line + clearLine + "\n")
	}
	b.WriteString(clearRest + wrapOn)
	_, _ = io.WriteString(p.out, b.String()) // a closed stderr ends nothing
	p.block = block
}
