//go:build linux || darwin || freebsd

package actuate

import (
	"errors"
	"io"
	"os"
)

// copyAndTruncate cuts a file to about its last keep bytes. The file must be
// open for append, and its writers must append too. What they write between the
// reading and the cut is lost: the price of a file system that cannot free the
// front of a file.
func copyAndTruncate(f *os.File, size, keep int64) error {
	tail := make([]byte, keep)
	n, err := f.ReadAt(tail, max(0, size-keep))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.Write(tail[:n])
	return err
}
