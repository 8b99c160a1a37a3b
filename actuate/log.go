//go:build linux || darwin || freebsd

package actuate

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/actuate/logs"
	"github.com/proc-controller/proc-controller/spec"
)

// LogPath is where the output of an instance is written; see logs.Path.
func LogPath(stateDir string, key spec.Key, id spec.Instance) string {
	return logs.Path(stateDir, key, id)
}

// openLog makes the output file of an instance, for this user only. It is
// opened for append, so that the child goes on at the right place after the
// file was shortened.
func openLog(path string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	f, err := os.OpenFile(path, flags, 0o600)
	if os.IsNotExist(err) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("cannot make the directory for output: %v", err)
		}
		f, err = os.OpenFile(path, flags, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the output file: %v", err)
	}
	return f, nil
}

// openForWriting tells whether anybody has the file open for writing. Where that
// cannot be told the answer is no: files of runs that this controller started are
// protected by its own record of them.
func openForWriting(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	written, known := logs.Written(f)
	return written && known
}

// keptBytes is what is left of an output file when its oldest part is freed.
func keptBytes(b spec.LogBounds) int64 { return b.MaxBytes / 5 * 4 }
