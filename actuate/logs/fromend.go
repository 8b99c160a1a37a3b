package logs

import (
	"bytes"
	"io"
)

// tailOffset gives where the last n lines of the first size bytes begin, but no
// place before least. It reads backwards, and no more than it has to. A last line
// that has no end counts.
func tailOffset(f io.ReaderAt, least, size int64, n int) int64 {
	if n == 0 {
		return size
	}
	buf := make([]byte, min(64<<10, max(0, size-least)))
	for end := size; end > least; {
		part := buf[:min(int64(len(buf)), end-least)]
		begin := end - int64(len(part))
		if _, err := f.ReadAt(part, begin); err != nil {
			return end // it has been cut meanwhile
		}
		if end == size {
			part = bytes.TrimSuffix(part, []byte{'\n'}) // ends the last line
		}
		for i := bytes.LastIndexByte(part, '\n'); i >= 0; i = bytes.LastIndexByte(part[:i], '\n') {
			if n--; n == 0 {
				return begin + int64(i) + 1
			}
		}
		end = begin
	}
	return least
}
