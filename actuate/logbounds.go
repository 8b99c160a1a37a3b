//go:build linux || darwin || freebsd

package actuate

import (
	"path/filepath"
	"time"

	"github.com/proc-controller/proc-controller/actuate/logs"
	"github.com/proc-controller/proc-controller/spec"
)

// logBounds is what the manifests say of the output of each workload.
type logBounds struct {
	bySeries map[string]spec.LogBounds
	// told says that all have been named: any other has the default. Before that
	// nothing is freed of what was adopted, which may be more than that.
	told bool
}

func newLogBounds() logBounds { return logBounds{bySeries: map[string]spec.LogBounds{}} }

// set takes up the bounds of a series, and says whether they are new.
func (b *logBounds) set(series string, bounds spec.LogBounds) bool {
	if former, known := b.bySeries[series]; known && former == bounds {
		return false
	}
	b.bySeries[series] = bounds
	return true
}

// BoundLogs says how much is kept of the output of each workload from now on. A
// workload that is not named keeps what it had; all says that every one is named,
// so that one of which nothing was ever said has the default.
func (a *Actuator) BoundLogs(bounds map[spec.Key]spec.LogBounds, all bool) { a.logs.Bound(bounds, all) }

// Bound takes up bounds, and looks at the files of those that are new.
func (k *logKeeper) Bound(bounds map[spec.Key]spec.LogBounds, all bool) {
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	changed := map[string]bool{}
	for key, b := range bounds {
		if series := logs.SeriesOf(key); k.set(series, b) {
			changed[series] = true
			k.thinLocked(series, now)
		}
	}
	all = all && !k.told
	k.told = k.told || all
	if len(changed) == 0 && !all {
		return
	}
	for path, f := range k.files {
		if all || changed[logs.Series(filepath.Base(path))] {
			k.lookAgainLocked(f, now)
		}
	}
	k.poke()
}

// lookAgainLocked has a file looked at now.
func (k *logKeeper) lookAgainLocked(f *boundedLog, now time.Time) {
	f.pause, f.due = firstLook, now
	k.queue.fix(f)
}

// boundsOf gives the bounds of an output file, or of a series, or says that they
// are not known yet.
func (k *logKeeper) boundsOf(path string) (b spec.LogBounds, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.boundsOfLocked(path)
}

func (k *logKeeper) boundsOfLocked(path string) (b spec.LogBounds, known bool) {
	series := path
	if name := filepath.Base(path); logs.Series(name) != "" {
		series = logs.Series(name)
	}
	if b, known = k.bySeries[series]; known {
		return b, true
	}
	return spec.DefaultLogBounds, k.told
}

// ringLimit spaces what the bell is listened to: whatever is written, it wakes
// this process no more often.
const ringLimit = 100 * time.Millisecond

// listen has the files looked at that begin to grow, until Close.
func (k *logKeeper) listen() {
	for {
		paths, err := k.bell.Wait()
		if err != nil {
			return
		}
		k.rang(paths)
		select {
		case <-time.After(ringLimit):
		case <-k.closed:
			return
		}
	}
}

// rang has files looked at for which the bell has rung.
func (k *logKeeper) rang(paths []string) {
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, path := range paths {
		if f := k.files[path]; f != nil {
			f.armed = false
			k.lookAgainLocked(f, now)
		}
	}
	k.poke()
}
