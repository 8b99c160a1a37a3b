package logs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// run is the output of one instance, open for reading: it can be read to its end
// even after it was removed.
type run struct {
	path  string
	token string
	file  *os.File
	info  os.FileInfo // as it was opened
	born  time.Time
	live  bool // somebody had it open for writing
}

// openRun opens an output file.
func openRun(path string) (*run, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	_, token, _ := ParseName(filepath.Base(path))
	written, known := Written(f)
	return &run{path: path, token: token, file: f, info: fi, born: born(f, fi), live: written && known}, nil
}

// names gives the names of the output files of a workload.
func names(dir string, key spec.Key) ([]string, error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	all, err := d.Readdirnames(-1)
	series := SeriesOf(key)
	return slices.DeleteFunc(all, func(name string) bool {
		return !strings.HasPrefix(name, series) || Series(name) != series
	}), err
}

// openRuns opens all the runs of a workload that are kept, the oldest first. One
// that is removed meanwhile is left out.
func openRuns(dir string, key spec.Key) (runs []*run, err error) {
	all, err := names(dir, key)
	if err != nil {
		return nil, err
	}
	for _, name := range all {
		r, err := openRun(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			closeAll(runs)
			return nil, err
		}
		runs = append(runs, r)
	}
	slices.SortFunc(runs, byAge)
	return runs, nil
}

// byAge orders runs, the oldest first.
func byAge(a, b *run) int {
	if c := a.born.Compare(b.born); c != 0 {
		return c
	}
	return strings.Compare(a.token, b.token)
}

// present are the runs that go on or, where none does, the newest.
func present(runs []*run) (now []*run) {
	for _, r := range runs {
		if r.live {
			now = append(now, r)
		}
	}
	if len(now) == 0 && len(runs) > 0 {
		now = runs[len(runs)-1:]
	}
	return now
}

// chosen are those that a query is about, the oldest first.
func (q *Query) chosen(runs []*run) []*run {
	now := present(runs)
	switch {
	case q.Previous:
		former := slices.DeleteFunc(slices.Clone(runs), func(r *run) bool { return slices.Contains(now, r) })
		return former[max(0, len(former)-1):]
	case q.AllMembers:
		return now
	}
	return now[max(0, len(now)-1):]
}

func closeAll(runs []*run) {
	for _, r := range runs {
		r.file.Close()
	}
}

// Known gives the workloads of which there is any output, sorted.
func Known(dir string) (keys []spec.Key) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if key, _, ok := ParseName(e.Name()); ok && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, spec.Key.Compare)
	return keys
}

// Writing gives how many runs of a workload go on.
func Writing(dir string, key spec.Key) (n int) {
	runs, err := openRuns(dir, key)
	if err != nil {
		return 0
	}
	defer closeAll(runs)
	for _, r := range runs {
		if r.live {
			n++
		}
	}
	return n
}
