//go:build linux || darwin || freebsd

package actuate

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/proc-controller/proc-controller/spec"
)

// logSuffix ends the name of an output file; before it stands the instance.
const logSuffix = ".log"

// LogPath is where the output of an instance is written, whether or not the
// file is there. It needs no state, so the output of an adopted instance is
// found like that of any other.
func LogPath(stateDir string, key spec.Key, id spec.Instance) string {
	return filepath.Join(logDir(stateDir, key), string(id)+logSuffix)
}

func logDir(stateDir string, key spec.Key) string {
	return filepath.Join(stateDir, "logs", string(key.Kind), key.Name)
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
