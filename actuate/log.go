//go:build linux || darwin || freebsd

package actuate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

// logSuffix ends the name of an output file.
const logSuffix = ".log"

// LogPath is where the output of an instance is written, whether or not the
// file is there: logs/KIND.NAME.TOKEN.log, with the random part of the instance,
// which is known before the fork. It needs no state, so the output of an adopted
// instance is found like that of any other.
//
// All files are in one directory: ext4 puts each new directory, and what is
// first made in it, into another part of the disk, which costs from 0.3 to 1.2
// ms, more than all the rest of a start. Neither kind nor name nor token can
// hold a dot.
func LogPath(stateDir string, key spec.Key, id spec.Instance) string {
	return filepath.Join(logDir(stateDir), string(key.Kind)+"."+key.Name+"."+id.Token()+logSuffix)
}

func logDir(stateDir string) string { return filepath.Join(stateDir, "logs") }

// logSeries is what the names of all output files of one key begin with, or
// empty for another file.
func logSeries(name string) string {
	stem, ok := strings.CutSuffix(name, logSuffix)
	if !ok {
		return ""
	}
	return stem[:strings.LastIndexByte(stem, '.')+1]
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
