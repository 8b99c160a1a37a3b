package main

import (
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// terminal is where a person reads what is written, as far as the look of it
// depends on that.
type terminal struct {
	// is says that it is a terminal, and no file, pipe or buffer.
	is     bool
	colour bool
	file   *os.File // nil where it is no file
}

// terminalOf looks at where w leads. It asks the kernel, and nothing else.
func terminalOf(w any, getenv func(string) string) terminal {
	f, ok := w.(*os.File)
	if !ok || f == nil {
		return terminal{colour: wantsColour(false, getenv)}
	}
	is := term.IsTerminal(int(f.Fd()))
	return terminal{is: is, colour: wantsColour(is, getenv), file: f}
}

// wantsColour decides as https://no-color.org and https://bixense.com/clicolors
// have it. A terminal that does not say what it is gets none.
func wantsColour(is bool, getenv func(string) string) bool {
	forced := getenv("CLICOLOR_FORCE")
	switch {
	case getenv("NO_COLOR") != "":
		return false
	case forced != "" && forced != "0":
		return true
	case !is, getenv("CLICOLOR") == "0":
		return false
	}
	return getenv("TERM") != "" && getenv("TERM") != "dumb"
}

// moves says that the cursor can be sent back over what is written already.
func (t terminal) moves(getenv func(string) string) bool {
	return t.is && getenv("TERM") != "" && getenv("TERM") != "dumb"
}

// size gives columns and rows as they are now; zeros where there are none, or a
// terminal does not say.
func (t terminal) size() (columns, rows int) {
	if !t.is {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(t.file.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// ANSI sequences of ECMA-48.
const (
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	green  = "\x1b[32m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

// paint puts a text into one of the colours above, where there are colours.
func (t terminal) paint(colour, text string) string {
	if !t.colour || colour == "" || text == "" {
		return text
	}
	return colour + text + plain
}

// shortened cuts a text that has more than width characters.
func shortened(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:max(width-1, 0)]) + "…"
}

// wrapped breaks a text at its blanks into lines of at most width characters. A
// word that is longer has a line of its own and stays whole, so that it can be
// copied.
func wrapped(s string, width int) []string {
	var lines []string
	for line := ""; ; {
		word, rest, more := strings.Cut(s, " ")
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
		if !more {
			return append(lines, line)
		}
		s = rest
	}
}
