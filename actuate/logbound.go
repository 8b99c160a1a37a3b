//go:build linux || darwin || freebsd

package actuate

import (
	"container/heap"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
)

// What is kept of the output of one run.
const (
	// maxLogBytes bounds the disk space of one output file; what is freed when
	// it is reached leaves keepLogBytes of the newest.
	maxLogBytes  = 10 << 20
	keepLogBytes = 8 << 20
)

// logKeeper bounds the output files, in one goroutine of its own: nothing of it
// is on the way of a start or of the output itself.
type logKeeper struct {
	dir    string
	log    logr.Logger
	wake   chan struct{} // of size one
	closed chan struct{}
	done   chan struct{}

	mu    sync.Mutex
	files map[string]*boundedLog // by path
	queue lookQueue
	fresh map[string]bool // series (see logSeries) that have a new file
	// thinAt is when those are thinned out; zero where there are none.
	thinAt time.Time
	// asleepUntil is when the goroutine wakes up by itself.
	asleepUntil time.Time
}

// boundedLog is one output file under watch.
type boundedLog struct {
	path  string
	size  int64 // at the last look
	pause time.Duration
	due   time.Time
	at    int  // index in the queue, -1 when it is not in it
	last  bool // nobody writes it any more: it is looked at once more
}

func newLogKeeper(stateDir string, log logr.Logger) *logKeeper {
	k := &logKeeper{
		dir: logDir(stateDir), log: log,
		wake: make(chan struct{}, 1), closed: make(chan struct{}), done: make(chan struct{}),
		files: map[string]*boundedLog{}, fresh: map[string]bool{},
	}
	go k.run()
	return k
}

// Add begins to bound a file, and asks for the older ones beside it to be
// thinned out.
func (k *logKeeper) Add(path string) {
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.addLocked(path, now)
	k.fresh[logSeries(filepath.Base(path))] = true
	if k.thinAt.IsZero() {
		k.thinAt = now.Add(thinDelay)
	}
	// A thousand starts in a row cost one wake-up.
	if k.asleepUntil.After(now.Add(firstLook)) {
		k.poke()
	}
}

func (k *logKeeper) addLocked(path string, now time.Time) {
	if k.files[path] != nil {
		return
	}
	f := &boundedLog{path: path, pause: firstLook, due: now.Add(firstLook), at: -1}
	k.files[path] = f
	heap.Push(&k.queue, f)
}

// Drop ends the watch of a file that nobody writes any more, after a last look:
// it may have grown a lot since the one before. The file stays.
func (k *logKeeper) Drop(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f := k.files[path]; f != nil {
		f.last, f.due = true, time.Time{}
		heap.Fix(&k.queue, f.at)
		k.poke()
	}
}

func (k *logKeeper) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run looks at what is due, until Close.
func (k *logKeeper) run() {
	defer close(k.done)
	k.adopt()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-k.wake:
		case <-timer.C:
		case <-k.closed:
			return
		}
		now := time.Now()
		if fresh := k.takeFresh(now); len(fresh) > 0 {
			k.thinOut(fresh)
		}
		timer.Reset(k.lookAtDue(now))
	}
}

// Close ends the watch. Files stay as they are.
func (k *logKeeper) Close() {
	close(k.closed)
	<-k.done
}

// adopt takes up the files of former controllers whose writers live on.
func (k *logKeeper) adopt() {
	if !filepath.IsAbs(k.dir) {
		return // no state directory
	}
	entries, _ := os.ReadDir(k.dir)
	for _, e := range entries {
		path := filepath.Join(k.dir, e.Name())
		if logSeries(e.Name()) != "" && openForWriting(path) {
			k.mu.Lock()
			k.addLocked(path, time.Now())
			k.mu.Unlock()
		}
	}
}

// lookAtDue looks at every file whose time has come and says how long to sleep.
func (k *logKeeper) lookAtDue(now time.Time) time.Duration {
	for {
		f, last, wait := k.nextDue(now)
		if f == nil {
			return wait
		}
		size, err := k.look(f.path)
		if err != nil || last {
			k.remove(f)
			continue
		}
		k.schedule(f, size, now)
	}
}

// nextDue gives the next file to look at, and whether that is the last time, or
// how long nothing is to be done.
func (k *logKeeper) nextDue(now time.Time) (f *boundedLog, last bool, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	wait = restingLook
	if len(k.queue) > 0 {
		f := k.queue[0]
		if wait = f.due.Sub(now); wait <= 0 || f.last {
			return f, f.last, 0
		}
	}
	if !k.thinAt.IsZero() {
		wait = min(wait, max(0, k.thinAt.Sub(now)))
	}
	k.asleepUntil = now.Add(wait)
	return nil, false, wait
}

// look frees the oldest part of a file that has grown beyond its bound.
func (k *logKeeper) look(path string) (size int64, err error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, err
	}
	// st_blocks counts 512 bytes on every system, and freed parts do not count.
	if st.Blocks*512 <= maxLogBytes {
		return st.Size, nil
	}
	if err := freeOldest(path, st.Size, keepLogBytes); err != nil {
		k.log.Error(err, "cannot bound an output file", "path", path)
	}
	return st.Size, nil
}

// remove ends the watch of a file.
func (k *logKeeper) remove(f *boundedLog) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.files, f.path)
	heap.Remove(&k.queue, f.at)
}

// schedule sets the time of the next look.
func (k *logKeeper) schedule(f *boundedLog, size int64, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f.last {
		return // dropped while it was looked at
	}
	f.pause = nextLook(f.pause, size-f.size)
	f.size = size
	f.due = now.Add(f.pause)
	if f.pause > 4*time.Second {
		// Resting files are looked at together: a wake-up costs more than a look.
		f.due = f.due.Truncate(f.pause / 4).Add(f.pause / 4)
	}
	heap.Fix(&k.queue, f.at)
}
