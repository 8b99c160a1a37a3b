//go:build darwin || freebsd

package actuate

import (
	"os"

	"github.com/proc-controller/proc-controller/actuate/logs"
)

// freeOldest frees all but about the last keep bytes of a file.
func freeOldest(path string, size, keep int64, times *logs.Recorder) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return times.Cut(max(0, size-keep), func() error { return copyAndTruncate(f, size, keep) })
}
