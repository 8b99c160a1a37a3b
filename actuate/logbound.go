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

	"github.com/proc-controller/proc-controller/actuate/logs"
	"github.com/proc-controller/proc-controller/spec"
)

// logKeeper bounds the output files and notes their times, in one goroutine of
// its own: nothing of it is on the way of a start or of the output itself.
type logKeeper struct {
	dir    string
	log    logr.Logger
	bell   *logs.Bell    // nil where there is none
	wake   chan struct{} // of size one
	closed chan struct{}
	// running and hearing are the goroutines, in the order in which they end:
	// whoever uses the bell must have ended before that is closed.
	running, hearing sync.WaitGroup

	mu    sync.Mutex
	files map[string]*boundedLog // by path
	queue lookQueue
	logBounds
	fresh map[string]bool // series (see logs.Series) that have a new file
	// thinAt is when those are thinned out; zero where there are none.
	thinAt time.Time
	// asleepUntil is when the goroutine wakes up by itself.
	asleepUntil time.Time
}

// boundedLog is one output file under watch.
type boundedLog struct {
	path  string
	times *logs.Recorder
	size  int64 // at the last look
	pause time.Duration
	due   time.Time
	at    int  // index in the queue, -1 when it is not in it
	last  bool // nobody writes it any more: it is looked at once more
	armed bool // the bell rings at the next write
	// silent says that its times could not be noted, and that this was told.
	silent bool
}

func newLogKeeper(stateDir string, log logr.Logger) *logKeeper {
	k := &logKeeper{
		dir: logs.Dir(stateDir), log: log,
		wake: make(chan struct{}, 1), closed: make(chan struct{}),
		files: map[string]*boundedLog{}, fresh: map[string]bool{}, logBounds: newLogBounds(),
	}
	var err error
	if k.bell, err = logs.NewBell(); err != nil {
		log.V(1).Info("output files are only looked at from time to time", "cause", err.Error())
	} else {
		k.hearing.Go(k.listen)
	}
	k.running.Go(k.run)
	return k
}

// Add begins to bound a file, and asks for the older ones beside it to be
// thinned out.
func (k *logKeeper) Add(path string, b spec.LogBounds) {
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.set(logs.Series(filepath.Base(path)), b)
	k.addLocked(path, now)
	k.thinLocked(logs.Series(filepath.Base(path)), now)
	// A thousand starts in a row cost one wake-up.
	if k.asleepUntil.After(now.Add(firstLook)) {
		k.poke()
	}
}

// thinLocked asks for the former runs of a series to be thinned out soon.
func (k *logKeeper) thinLocked(series string, now time.Time) {
	k.fresh[series] = true
	if k.thinAt.IsZero() {
		k.thinAt = now.Add(thinDelay)
	}
}

func (k *logKeeper) addLocked(path string, now time.Time) {
	if k.files[path] != nil {
		return
	}
	f := &boundedLog{path: path, times: logs.NewRecorder(path), pause: firstLook, due: now.Add(firstLook), at: -1}
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
	k.running.Wait()
	_ = k.bell.Close()
	k.hearing.Wait()
}

// adopt takes up the files of former controllers whose writers live on.
func (k *logKeeper) adopt() {
	if !filepath.IsAbs(k.dir) {
		return // no state directory
	}
	entries, _ := os.ReadDir(k.dir)
	for _, e := range entries {
		path := filepath.Join(k.dir, e.Name())
		if logs.Series(e.Name()) != "" && openForWriting(path) {
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
		size, err := k.look(f, last, now)
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

// look notes how large a file is now, and frees the oldest part of one that has
// grown beyond its bound.
func (k *logKeeper) look(f *boundedLog, last bool, now time.Time) (size int64, err error) {
	var st unix.Stat_t
	err = unix.Stat(f.path, &st)
	if err == nil && !last && st.Size == f.size && f.pause >= restsAfter && !f.armed {
		f.armed = k.bell.Arm(f.path)
		err = unix.Stat(f.path, &st) // it may have grown before that
	}
	if err != nil {
		return 0, err
	}
	k.note(f, &st, now)
	bounds, known := k.boundsOf(f.path)
	// st_blocks counts 512 bytes on every system, and freed parts do not count.
	if !known || st.Blocks*512 <= bounds.MaxBytes {
		return st.Size, nil
	}
	if err := freeOldest(f.path, st.Size, keptBytes(bounds), f.times); err != nil {
		k.log.Error(err, "cannot bound an output file", "path", f.path)
	}
	return st.Size, nil
}

// note writes down when the file was as large as it is: at its last write, unless
// somebody has given it a time to come. That it cannot be written is told once.
func (k *logKeeper) note(f *boundedLog, st *unix.Stat_t, now time.Time) {
	at := time.Unix(st.Mtim.Unix())
	if at.After(now) {
		at = now
	}
	freed := max(0, st.Size-st.Blocks*512)
	if err := f.times.Note(st.Size, freed, at); err != nil && !f.silent {
		f.silent = true
		k.log.Info("cannot note when output was written", "path", f.path, "cause", err.Error())
	}
}

// remove ends the watch of a file.
func (k *logKeeper) remove(f *boundedLog) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.files, f.path)
	heap.Remove(&k.queue, f.at)
	k.bell.Disarm(f.path)
}

// schedule sets the time of the next look.
func (k *logKeeper) schedule(f *boundedLog, size int64, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f.last {
		return // dropped while it was looked at
	}
	bounds, _ := k.boundsOfLocked(f.path)
	f.pause = nextLook(f.pause, size-f.size, bounds)
	f.size = size
	f.due = lookAt(now, f.pause)
	heap.Fix(&k.queue, f.at)
}
