package source

import (
	"errors"
	"io"
	"io/fs"
	"time"
)

// content is one consistent reading of a regular file.
type content struct {
	data []byte
	st   stamp // as it was before and after
}

// readSettled reads a file that nobody writes. The path must not end in a
// link. The error is fs.ErrNotExist where the file is gone, errBusy (with the
// stamp in the content) where somebody is at work on it, errNotFile, errTooLarge,
// or the system's. admit may refuse the opened file by its stamp; nil admits.
func readSettled(path string, limit int64, seen rest, now time.Time, admit func(stamp) *refusal) (content, error) {
	f, err := open(path)
	if err != nil {
		return content{}, err
	}
	defer f.close()
	st, err := f.stamp()
	if err != nil {
		return content{}, err
	}
	c := content{st: st}
	if !st.mode.IsRegular() {
		return c, errNotFile
	}
	if admit != nil {
		if r := admit(st); r != nil {
			return c, r
		}
	}
	if !settled(f, st, seen, now) {
		return c, errBusy
	}
	if st.size > limit {
		return c, errTooLarge
	}
	if c.data, err = readAll(f, st.size, limit); err != nil {
		return c, err
	}
	// A writer that came while we read shows now: it is still there, or it
	// left another stamp behind.
	after, err := f.stamp()
	if err != nil {
		return c, err
	}
	if after != st || !settled(f, st, seen, now) {
		c.data, c.st = nil, after
		return c, errBusy
	}
	return c, nil
}

func settled(f handle, st stamp, seen rest, now time.Time) bool {
	free, err := f.quiet()
	if err == nil && free {
		return true
	}
	return rested(st, seen, err == nil, now)
}

// readAll reads up to the limit; the size is what to expect, not to rely on,
// since files of some pseudo file systems have none.
func readAll(f io.Reader, size, limit int64) ([]byte, error) {
	buf := make([]byte, 0, size+1)
	for {
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return nil, err
		case int64(len(buf)) > limit:
			return nil, errTooLarge
		case len(buf) == cap(buf):
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
