//go:build darwin || freebsd

package actuate

import "os"

// freeOldest frees all but about the last keep bytes of a file.
func freeOldest(path string, size, keep int64) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return copyAndTruncate(f, size, keep)
}

// openForWriting cannot be told here. Files of runs that this controller
// started are protected by its own record of them.
func openForWriting(string) bool { return false }
