package actuate

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/proc-controller/proc-controller/observe"
)

// Bounds of LastLines.
const (
	maxTail      = 8 << 10 // bytes
	maxLastLines = 20
	maxLastLine  = 500 // bytes
)

// LastLines gives the last lines that are not blank among the last 8 KiB of an
// output file: at most 20, the newest last, at most 500 bytes of each, without
// control characters. There are none where the file cannot be read. Freed parts
// of the file, which read as zeros, count as nothing.
func LastLines(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil
	}
	buf := make([]byte, min(end, maxTail))
	n, _ := f.ReadAt(buf, end-int64(len(buf)))
	lines := lastLines(buf[:n])
	if end > maxTail && len(lines) > 1 && len(lines) < maxLastLines {
		lines = lines[1:] // it may have begun before
	}
	return lines
}

// LastLines gives the last lines of an output file, as the function does.
func (a *Actuator) LastLines(log string) []string { return LastLines(log) }

// LastLine gives the last of LastLines, or nothing.
func LastLine(path string) string {
	lines := LastLines(path)
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

func lastLines(tail []byte) (lines []string) {
	if i := bytes.LastIndexByte(tail, 0); i >= 0 {
		tail = tail[i+1:]
	}
	for len(tail) > 0 && len(lines) < maxLastLines {
		tail = bytes.TrimSuffix(tail, []byte{'\n'})
		i := bytes.LastIndexByte(tail, '\n')
		if line := shown(tail[i+1:]); line != "" {
			lines = append(lines, line)
		}
		tail = tail[:max(i, 0)]
	}
	slices.Reverse(lines)
	return lines
}

// shown is a line as it is shown to a person. Of a progress bar it is what was on
// the screen last.
func shown(b []byte) string {
	line := strings.TrimRight(string(b), " \t\r")
	line = observe.Printable(line[strings.LastIndexByte(line, '\r')+1:], maxLastLine)
	return strings.TrimRight(line, " \t")
}
