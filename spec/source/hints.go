package source

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// hinted looks at what one event and those that wait behind it point to. What
// the events say happened does not matter.
func (s *Source) hinted(ev fsnotify.Event, now time.Time) {
	names, whole := s.names[:0], false
	for n, more := 0, true; more && n < eventBuffer; n++ {
		names, whole = s.concerned(ev, names, whole)
		select {
		case ev, more = <-s.watch.events():
		default:
			more = false
		}
	}
	s.names = names[:0]
	switch {
	case whole:
		s.pass(now)
	case len(names) > 0:
		s.look(names, now)
	}
}

// concerned finds out which entries an event may concern, or that it concerns
// the directory as a whole.
func (s *Source) concerned(ev fsnotify.Event, names []string, whole bool) ([]string, bool) {
	path := ev.Name
	if _, leads := s.via[path]; leads {
		return names, true
	}
	if _, watched := s.watch.dirs[path]; watched && ev.Op&(fsnotify.Remove|fsnotify.Rename) != 0 {
		return names, true
	}
	dir, name := filepath.Split(path)
	if len(dir) == len(s.real)+1 && dir[:len(s.real)] == s.real && manifestName([]byte(name)) {
		names = append(names, name)
		s.cat.hurry(name)
	}
	before := len(names)
	names = s.cat.deps.at(path, names)
	for _, name := range names[before:] {
		s.cat.hurry(name)
	}
	return names, whole
}

// look looks at single entries. That one is missing is believed only if the
// directory is still the one that it was: else each file in it would seem to
// be gone.
func (s *Source) look(names []string, now time.Time) {
	if s.cat.holds.suspended {
		s.pass(now) // it may be back
		return
	}
	if gone := s.read(names, now); gone {
		w, err := walk(s.options.Dir, nil)
		if err != nil || w.real != s.real || !w.end.sameFile(s.found) {
			s.pass(now)
			return
		}
		var gone []*file
		for _, name := range names {
			if f := s.cat.files[name]; f != nil && f.pass == 0 && !slices.Contains(gone, f) {
				gone = append(gone, f)
			}
		}
		s.cat.vanish(gone, now)
	}
	s.finish(now)
}

// watchNew watches the directories that entries have come to depend on, and
// looks again at what changed there before it was watched.
func (s *Source) watchNew(now time.Time) {
	if !s.cat.newDirs {
		return
	}
	s.cat.newDirs = false
	for dir := range s.cat.deps.dirs {
		if _, known := s.watch.dirs[dir]; !known {
			s.watch.add(dir)
		}
	}
	s.cat.report.pollingOnly(s.watch.failed)
	if names := s.cat.deps.changed(nil); len(names) > 0 {
		s.read(names, now)
	}
}
