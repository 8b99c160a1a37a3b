package logs

import (
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// How often is looked where nobody tells, and where somebody does: a network
// file system tells of nothing that another machine does.
const (
	lookEvery  = 100 * time.Millisecond
	safetyLook = 2 * time.Second
)

// watch tells when there may be something new in the output of a workload, and
// opens each new run as soon as it appears. The bell is nil where there is none.
type watch struct {
	dir    string
	key    spec.Key
	bell   *Bell
	news   chan struct{} // of size one
	closed chan struct{}
	// looking and hearing are the goroutines, in the order in which they end:
	// whoever may use the bell must have ended before that is closed.
	looking, hearing sync.WaitGroup
	// listening says that the directory is watched.
	listening atomic.Bool

	mu   sync.Mutex
	seen map[string]bool // names
	runs []*run          // not taken yet
}

func newWatch(dir string, key spec.Key, seen []string) *watch {
	w := &watch{
		dir: dir, key: key, news: make(chan struct{}, 1), closed: make(chan struct{}), seen: map[string]bool{},
	}
	for _, name := range seen {
		w.seen[name] = true
	}
	rung := make(chan []string)
	if bell, err := NewBell(); err == nil {
		w.bell = bell
		w.hearing.Go(func() { w.listen(rung) })
	}
	w.looking.Go(func() { w.look(rung) })
	return w
}

// told says whether news come by themselves.
func (w *watch) told() bool { return w.listening.Load() }

// listen passes on what the bell rings for.
func (w *watch) listen(rung chan<- []string) {
	for {
		paths, err := w.bell.Wait()
		if err != nil {
			return
		}
		select {
		case rung <- paths:
		case <-w.closed:
			return
		}
	}
}

// look looks for new runs, until close. The directory may appear only later.
func (w *watch) look(rung <-chan []string) {
	for {
		if !w.told() {
			w.listening.Store(w.bell.WatchDir(w.dir))
		}
		w.find()
		every := safetyLook
		if !w.told() {
			every = lookEvery
		}
		timer := time.NewTimer(every)
		w.await(rung, timer.C)
		timer.Stop()
		select {
		case <-w.closed:
			return
		default:
		}
	}
}

// await waits until it is time to look for new runs.
func (w *watch) await(rung <-chan []string, until <-chan time.Time) {
	for {
		select {
		case <-w.closed:
			return
		case <-until:
			return
		case paths := <-rung:
			w.poke()
			if slices.Contains(paths, w.dir) {
				return
			}
		}
	}
}

// maxOpen bounds the runs that are open and not taken yet; more are found once
// there is room.
const maxOpen = 100

// find opens the runs that are new.
func (w *watch) find() {
	all, err := names(w.dir, w.key)
	if err != nil {
		return // it is looked for again
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.seen, func(name string, _ bool) bool { return !slices.Contains(all, name) })
	var found []*run
	for _, name := range all {
		if w.seen[name] || len(w.runs)+len(found) == maxOpen {
			continue
		}
		if r, err := openRun(filepath.Join(w.dir, name)); err == nil {
			w.seen[name] = true
			found = append(found, r)
		}
	}
	if len(found) > 0 {
		slices.SortFunc(found, byAge)
		w.runs = append(w.runs, found...)
		w.poke()
	}
}

// take gives the runs that were found since.
func (w *watch) take() []*run {
	w.mu.Lock()
	defer w.mu.Unlock()
	runs := w.runs
	w.runs = nil
	return runs
}

// clear forgets news of what is looked at now.
func (w *watch) clear() {
	select {
	case <-w.news:
	default:
	}
}

func (w *watch) poke() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

func (w *watch) close() {
	close(w.closed)
	w.looking.Wait()
	_ = w.bell.Close()
	w.hearing.Wait()
	closeAll(w.take())
}
