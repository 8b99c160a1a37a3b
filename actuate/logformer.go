//go:build linux || darwin || freebsd

package actuate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/actuate/logs"
)

// thinDelay is how long after a start the former runs are thinned out: the
// removal of files holds up whoever makes one in the same directory.
const thinDelay = time.Second

// formerLog is the output of a run that has ended.
type formerLog struct {
	path string
	at   time.Time // of its last line
}

// thinOut removes the output of all but the last few ended runs of each of
// these series, and times whose output is gone.
func (k *logKeeper) thinOut(series map[string]bool) {
	names := k.namesIn(series)
	for of, ended := range k.endedRuns(names) {
		bounds, known := k.boundsOf(of)
		if !known {
			continue
		}
		slices.SortFunc(ended, func(a, b formerLog) int { return b.at.Compare(a.at) })
		for _, f := range ended[min(bounds.Keep, len(ended)):] {
			k.removeFile(f.path)
			k.removeFile(logs.TimesPath(f.path))
		}
	}
	for _, name := range names {
		if of, times := logs.OfTimes(name); times && k.missing(of) {
			k.removeFile(filepath.Join(k.dir, name))
		}
	}
}

// missing says that there is no such file.
func (k *logKeeper) missing(name string) bool {
	_, err := os.Lstat(filepath.Join(k.dir, name))
	return errors.Is(err, fs.ErrNotExist)
}

func (k *logKeeper) removeFile(path string) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.log.Error(err, "cannot remove the output of a former run", "path", path)
	}
}

// namesIn gives the names of the files of these series.
func (k *logKeeper) namesIn(series map[string]bool) (names []string) {
	entries, err := os.ReadDir(k.dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		if of, times := logs.OfTimes(name); times {
			name = of
		}
		if series[logs.Series(name)] {
			names = append(names, e.Name())
		}
	}
	return names
}

// endedRuns finds, by series, the output files that nobody has open for
// writing.
func (k *logKeeper) endedRuns(names []string) map[string][]formerLog {
	ended := map[string][]formerLog{}
	for _, name := range names {
		of := logs.Series(name)
		path := filepath.Join(k.dir, name)
		if of == "" || k.watches(path) || openForWriting(path) {
			continue
		}
		if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() {
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
