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

// thinDelay is how long after a start the former runs are thinned out: the
// removal of files holds up whoever makes one in the same directory.
const thinDelay = time.Second

// formerLog is the output of a run that has ended.
type formerLog struct {
	path string
	at   time.Time // of its last line
}

// thinOut removes the output of all but the last few ended runs of each of
// these series.
func (k *logKeeper) thinOut(series map[string]bool) {
	for _, ended := range k.endedRuns(series) {
		slices.SortFunc(ended, func(a, b formerLog) int { return b.at.Compare(a.at) })
		for _, f := range ended[min(formerLogs, len(ended)):] {
			if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				k.log.Error(err, "cannot remove the output of a former run", "path", f.path)
			}
		}
	}
}

// endedRuns finds, by series, the output files that nobody has open for
// writing.
func (k *logKeeper) endedRuns(series map[string]bool) map[string][]formerLog {
	entries, err := os.ReadDir(k.dir)
	if err != nil {
		return nil
	}
	ended := map[string][]formerLog{}
	for _, e := range entries {
		of := logSeries(e.Name())
		path := filepath.Join(k.dir, e.Name())
		if !series[of] || k.watches(path) || openForWriting(path) {
			continue
		}
		if fi, err := e.Info(); err == nil && fi.Mode().IsRegular() {
			ended[of] = append(ended[of], formerLog{path, fi.ModTime()})
		}
	}
	return ended
}

func (k *logKeeper) watches(path string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.files[path] != nil
}

// takeFresh gives the series that are to be thinned out now.
func (k *logKeeper) takeFresh(now time.Time) map[string]bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.thinAt.IsZero() || now.Before(k.thinAt) {
		return nil
	}
	fresh := k.fresh
	k.fresh, k.thinAt = map[string]bool{}, time.Time{}
	return fresh
}
