package actuate

import (
	"bytes"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// Bounds of LastLine, in bytes.
const (
	maxTail     = 8 << 10
	maxLastLine = 500
)

// LastLine gives the last line that is not blank among the last 8 KiB of an
// output file, at most 500 bytes of it, without control characters. It is empty
// where there is none or the file cannot be read. Freed parts of the file, which
// read as zeros, count as nothing.
func LastLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	buf := make([]byte, min(end, maxTail))
	n, _ := f.ReadAt(buf, end-int64(len(buf)))
	return lastLine(buf[:n])
}

// LastLine gives the last line of an output file, as the function does.
func (a *Actuator) LastLine(log string) string { return LastLine(log) }

func lastLine(tail []byte) string {
	if i := bytes.LastIndexByte(tail, 0); i >= 0 {
		tail = tail[i+1:]
	}
	tail = bytes.TrimSpace(tail)
	line := string(tail[bytes.LastIndexByte(tail, '\n')+1:])
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:] // a progress bar: what was on the screen last
	}
	return printable(strings.TrimSpace(line))
}

// printable cuts a line to its bound and drops what could play tricks on a
// terminal.
func printable(line string) string {
	if len(line) > maxLastLine {
		line = line[:maxLastLine]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, line)
}
