package source

import (
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// pass looks at the whole directory, and reads what has changed.
func (s *Source) pass(now time.Time) {
	s.number++
	s.trust.forget()
	if r := s.enter(); r != nil {
		s.lost(r, now)
		return
	}
	names, err := s.survey()
	if err != nil {
		s.lost(refuse(spec.ReasonUnreadable, "cannot list the directory: %v", err), now)
		return
	}
	s.pollNext = now.Add(s.options.Poll)
	names = append(s.cat.deps.changed(names), s.cat.due(now)...)
	s.read(names, now)
	s.settleDirectory(now)
	s.memory = nil
	s.finish(now)
}

// enter finds the directory, whatever its path leads to by now, watches it and
// all that could make the path lead elsewhere, and says why it may not be read.
// Watches come before the look, so that nothing is missed between them; where
// a watch is new, the path is followed once more.
func (s *Source) enter() *refusal {
	const attempts = 3
	var w way
	var err error
	for range attempts {
		w, err = walk(s.options.Dir, s.trust)
		if !s.watchWay(w) {
			break
		}
	}
	s.cat.report.pollingOnly(s.watch.failed)
	s.real, s.found = w.real, w.end
	switch {
	case missing(err):
		return refuse(spec.ReasonDirMissing, "the manifest directory does not exist: mkdir -p %s", spec.ShellWord(s.options.Dir))
	case err != nil:
		return refuse(spec.ReasonUnreadable, "cannot reach the manifest directory: %v", err)
	case !w.end.mode.IsDir():
		return refuse(spec.ReasonUnreadable, "%s is a file: a directory of manifests is expected", s.options.Dir)
	case w.distrust != nil:
		return w.distrust
	}
	return s.trust.place(w.real, w.end)
}

// watchWay watches what leads to the directory, the directory, and what its
// entries depend on. It tells whether any of it is new.
func (s *Source) watchWay(w way) (fresh bool) {
	clear(s.via)
	dirs := make(map[string]struct{}, len(s.watch.dirs))
	for _, p := range w.via {
		s.via[p] = struct{}{}
		dirs[filepath.Dir(p)] = struct{}{}
	}
	if w.end.mode.IsDir() {
		dirs[w.real] = struct{}{}
	}
	for dir := range s.cat.deps.dirs {
		dirs[dir] = struct{}{}
	}
	s.cat.newDirs = false
	for dir := range dirs {
		if _, known := s.watch.dirs[dir]; !known {
			fresh = true
		}
	}
	s.watch.require(dirs)
	return fresh
}

// survey names the entries that are not as they were when they were last
// looked at, and marks those that are there.
func (s *Source) survey() ([]string, error) {
	var names []string
	var skipped []spec.Finding
	seen := 0
	err := s.listing.each(s.real, func(name []byte, dir bool) bool {
		if manifestName(name) {
			return true
		}
		if why := whySkipped(string(name), dir); why != "" {
			skipped = append(skipped, spec.Finding{
				File: filepath.Join(s.options.Dir, string(name)), Reason: spec.ReasonSkipped, Message: why,
			})
		}
		return false
	}, func(name []byte, link bool, st stamp, err error) {
		f := s.cat.files[string(name)]
		switch {
		case f == nil:
			names = append(names, string(name))
			return
		case missing(err) && !link:
			return // unlinked after it was listed
		case f.st != st && f.busy == nil || f.suspect || link && s.strayed(f):
			names = append(names, f.name)
		}
		f.pass = s.number
		seen++
	})
	if err != nil {
		return nil, err
	}
	s.cat.report.skippedEntries(s.options.Dir, skipped)
	if seen < len(s.cat.files) {
		names = s.confirm(names)
	}
	return names, nil
}

// strayed tells whether an entry that is a link leads elsewhere than it did, or
// over a place that is not trusted any more.
func (s *Source) strayed(f *file) bool {
	w, err := walkFrom(s.real, f.name, s.trust)
	return err != nil || w.real != f.real || w.distrust != nil
}

// confirm looks again for files that a listing did not show: one that is
// renamed while the directory is read may be passed over (readdir(3) leaves it
// open). It adds those that are there after all to the names.
func (s *Source) confirm(names []string) []string {
	for _, f := range s.cat.unseen(s.number) {
		if _, err := lstat(filepath.Join(s.real, f.name)); !missing(err) {
			f.pass = s.number
			names = append(names, f.name)
		}
	}
	return names
}

// read looks at entries and takes in what they hold. Those that are gone are
// left to settleDirectory.
func (s *Source) read(names []string, now time.Time) (gone bool) {
	slices.Sort(names)
	names = slices.Compact(names)
	r := reader{
		places: s.cat.places, real: s.real, home: s.options.Home, noneKept: s.options.NoneKept,
		trust: s.trust, rests: s.cat.rests, memory: s.memory,
	}
	found := r.lookAll(names, now)
	for i := range found {
		rd := &found[i]
		if rd.outcome == outcomeGone {
			gone = true
			if f := s.cat.files[rd.name]; f != nil {
				f.pass = 0
			}
			continue
		}
		s.cat.apply(rd, now)
		s.cat.files[rd.name].pass = s.number
	}
	return gone
}

// settleDirectory lets the files that a pass did not see vanish, if the
// directory is the one that it was. On another file system they may merely not
// be mounted: they stay until each of their keys is there again, which shows
// that this is the new home of all of them.
func (s *Source) settleDirectory(now time.Time) {
	gone := s.cat.unseen(s.number)
	if s.dev != 0 && s.found.dev != s.dev && !s.cat.covered(gone) {
		s.cat.suspend(func(f *file) bool { return f.pass != s.number })
		s.cat.report.directory(s.options.Dir, refuse(spec.ReasonDirReplaced,
			"another file system is there now, and manifests are missing: nothing is stopped until they are back, or the controller is restarted"))
		return
	}
	s.dev = s.found.dev
	s.cat.report.directory(s.options.Dir, nil)
	s.forgetOrphans(now)
	s.cat.vanish(gone, now)
	s.cat.resume(now)
}

// forgetOrphans lets go, in time, of remembered files that were not there at
// the first read, as of those that vanish after it.
func (s *Source) forgetOrphans(now time.Time) {
	for path, content := range s.memory {
		if s.cat.files[filepath.Base(path)] != nil && filepath.Dir(path) == s.options.Dir {
			continue
		}
		o := orphan{at: now.Add(s.options.DeleteHold)}
		for _, d := range spec.Decode(path, content) {
			if d.Object != nil {
				o.keys = append(o.keys, d.Key)
			}
		}
		s.cat.forget[path] = o
	}
}

// lost takes in that the directory cannot be read: everything stays as it was.
// At the first read, what was is what the memory has.
func (s *Source) lost(r *refusal, now time.Time) {
	s.pollNext = now.Add(s.options.Poll)
	s.cat.suspend(func(*file) bool { return true })
	s.cat.report.directory(s.options.Dir, r)
	if !s.cat.complete {
		s.recallAll(r, now)
	}
	s.finish(now)
}

// recallAll enters what the memory has of a directory that was never read.
func (s *Source) recallAll(why *refusal, now time.Time) {
	r := reader{places: s.cat.places, home: s.options.Home, memory: s.memory}
	for _, path := range slices.Sorted(maps.Keys(s.memory)) {
		if filepath.Dir(path) != s.options.Dir {
			continue
		}
		rd := reading{name: filepath.Base(path)}
		rd.recalled = r.recall(&rd, now)
		s.cat.recall(&rd, why, now)
	}
}

// finish ends a step: what it changed is published.
func (s *Source) finish(now time.Time) {
	s.watchNew(now)
	s.cat.settle(now)
	s.cat.prune(now)
	s.cat.begin(now)
	s.publish()
}
