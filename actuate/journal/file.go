package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// file is the journal on the disk, opened for append and opened again whenever
// somebody has put another one, or nothing, in its place.
type file struct {
	path    string
	max     int64
	compact func([][]byte) [][]byte
	sync    bool

	f    *os.File
	size int64
	// torn says that the last line has no end: a write that was cut short.
	torn bool
	// limit is when to rotate next: max, or more where compacting left more
	// than half of it.
	limit int64
}

// older is where the older half of a journal that is not compacted goes.
func older(path string) string { return path + ".1" }

// append writes whole lines. After an error none of them counts as written,
// though some may be.
func (w *file) append(lines []byte) (int, error) {
	if err := w.ensure(); err != nil {
		return 0, err
	}
	if w.torn {
		// Ends the torn line, which no reader will take for a record.
		if _, err := w.f.Write([]byte{'\n'}); err != nil {
			return 0, err
		}
		w.size++
		w.torn = false
	}
	n, err := w.f.Write(lines)
	w.size += int64(n)
	if err != nil {
		w.torn = n > 0
		return n, err
	}
	if w.size >= w.limit && w.rotate() != nil {
		// The lines are written, and that they are too many is no reason to
		// write them again. It is tried again a little later.
		w.limit = w.size + w.max/4
	}
	return n, nil
}

// ensure has the file open that is at path now: a write to one that was
// deleted would succeed, and be lost.
func (w *file) ensure() error {
	if w.f != nil {
		open, err := w.f.Stat()
		if err == nil {
			if there, err := os.Lstat(w.path); err == nil && os.SameFile(open, there) {
				return nil
			}
		}
		w.close()
	}
	return w.open()
}

func (w *file) open() error {
	if err := os.MkdirAll(filepath.Dir(w.path), 0o700); err != nil {
		return err
	}
	f, err := openRegular(w.path, os.O_RDWR|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	w.f, w.size, w.limit = f, st.Size(), w.max
	if w.compact == nil {
		w.limit = w.max / 2 // the other half is the older file's
	}
	last := []byte{'\n'}
	if w.size > 0 {
		_, err = f.ReadAt(last, w.size-1)
	}
	w.torn = err != nil || last[0] != '\n'
	return nil
}

// openRegular opens a file that is one: on a FIFO an open would wait.
func openRegular(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// rotate makes room: by leaving out lines that no longer matter, or by moving
// the file away, over the older one.
func (w *file) rotate() error {
	if w.compact == nil {
		err := os.Rename(w.path, older(w.path))
		w.close()
		return err
	}
	content, err := os.ReadFile(w.path)
	if err != nil {
		return err
	}
	kept := w.compact(splitLines(content))
	if err := w.replace(kept); err != nil {
		return err
	}
	w.close()
	if err := w.open(); err != nil {
		return err
	}
	w.limit = max(w.max, 2*w.size)
	return nil
}

// replace puts the lines in the place of the file, or leaves it as it is.
func (w *file) replace(lines [][]byte) error {
	temporary := w.path + ".new"
	f, err := openRegular(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(append(bytes.Join(lines, []byte{'\n'}), '\n'))
	if err == nil && w.sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temporary, w.path)
	}
	if err != nil {
		os.Remove(temporary)
	}
	return err
}

func (w *file) flush() error {
	if w.f == nil {
		return nil
	}
	return w.f.Sync()
}

func (w *file) close() {
	if w.f != nil {
		w.f.Close()
		w.f = nil
	}
}
