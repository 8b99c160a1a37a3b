package source

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// eventBuffer is the number of events that may wait while entries are read;
// beyond it they wait in the kernel, which says so when it drops any.
const eventBuffer = 256

// watch turns changes in directories into events. It is a mere accelerator:
// where it fails, the poll does the work.
type watch struct {
	w *fsnotify.Watcher
	// dirs are the directories that should be watched.
	dirs map[string]struct{}
	// failed says why there are no events for some of them; empty if there are.
	failed string
}

// open tries to have a watcher, again if it failed before: the limit on
// inotify instances is per user, and others give theirs back.
func (w *watch) open() {
	w.failed = ""
	if w.w != nil {
		return
	}
	watcher, err := fsnotify.NewBufferedWatcher(eventBuffer)
	if err != nil {
		w.fail(err)
		return
	}
	w.w = watcher
}

// require watches the given directories and no others. It adds those that are
// watched already once more: the kernel may have dropped a watch with its
// directory, and another directory may stand in its place since.
func (w *watch) require(dirs map[string]struct{}) {
	w.open()
	for dir := range w.dirs {
		if _, still := dirs[dir]; !still && w.w != nil {
			_ = w.w.Remove(dir) // it may be gone, and its watch with it
		}
	}
	w.dirs = dirs
	for dir := range dirs {
		w.add(dir)
	}
}

// add watches one more directory.
func (w *watch) add(dir string) {
	w.dirs[dir] = struct{}{}
	if w.w == nil {
		return
	}
	if err := w.w.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.fail(fmt.Errorf("%s: %w", dir, err))
	}
}

func (w *watch) fail(err error) {
	hint := ""
	switch { // inotify_add_watch(2), inotify_init(2)
	case errors.Is(err, syscall.ENOSPC):
		hint = "; raise fs.inotify.max_user_watches"
	case errors.Is(err, syscall.EMFILE):
		hint = "; raise fs.inotify.max_user_instances"
	}
	w.failed = fmt.Sprintf("no file events, changes are seen by polling only: cannot watch %v%s", err, hint)
}

// events is the channel of events; nil, which never delivers, without a
// watcher.
func (w *watch) events() <-chan fsnotify.Event {
	if w.w == nil {
		return nil
	}
	return w.w.Events
}

// errors is the channel of errors, as events.
func (w *watch) errors() <-chan error {
	if w.w == nil {
		return nil
	}
	return w.w.Errors
}

func (w *watch) close() {
	if w.w != nil {
		_ = w.w.Close() // nothing was written
	}
}
