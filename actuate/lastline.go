package actuate

import (
	"io"
	"os"

	"github.com/proc-controller/proc-controller/observe"
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
	return observe.LastLine(buf[:n], maxLastLine)
}

// LastLine gives the last line of an output file, as the function does.
func (a *Actuator) LastLine(log string) string { return LastLine(log) }
