//go:build linux || darwin || freebsd

package actuate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// formerLogs is the number of ended runs whose output is kept per key.
const formerLogs = 3

// thinOut removes the output of all but the last few ended runs of one key. A
// run has ended if nobody has its file open for writing.
func (k *logKeeper) thinOut(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= formerLogs {
		return
	}
	type former struct {
		path string
		at   time.Time
	}
	var ended []former
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		fi, err := e.Info()
		if err != nil || !fi.Mode().IsRegular() || filepath.Ext(path) != logSuffix || k.watches(path) || openForWriting(path) {
			continue
		}
		ended = append(ended, former{path, fi.ModTime()})
	}
	slices.SortFunc(ended, func(a, b former) int { return b.at.Compare(a.at) })
	for _, f := range ended[min(formerLogs, len(ended)):] {
		if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			k.log.Error(err, "cannot remove the output of a former run", "path", f.path)
		}
	}
}

func (k *logKeeper) watches(path string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.files[path] != nil
}

func (k *logKeeper) takeFresh() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var dirs []string
	for dir := range k.fresh {
		dirs = append(dirs, dir)
	}
	clear(k.fresh)
	return dirs
}
