package observe

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// LastLine gives the last line that is not blank of what a program wrote, at
// most limit bytes of it, without what could play tricks on a terminal. Zeros,
// as which the freed parts of an output file read, count as nothing.
func LastLine(output []byte, limit int) string {
	if i := bytes.LastIndexByte(output, 0); i >= 0 {
		output = output[i+1:]
	}
	output = bytes.TrimSpace(output)
	line := output[bytes.LastIndexByte(output, '\n')+1:]
	if i := bytes.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:] // a progress bar: what was on the screen last
	}
	return Printable(string(bytes.TrimSpace(line)), limit)
}

// Printable cuts a line to at most limit bytes and drops control characters and
// what is no UTF-8.
func Printable(line string, limit int) string {
	if len(line) > limit {
		line = line[:limit]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
			return -1
		}
		return r
	}, line)
}
