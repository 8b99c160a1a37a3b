package source

import "path/filepath"

// dependents knows which entries depend on which other places: the links that
// lead to them and the files that they name.
type dependents struct {
	// watched gives the entries by each path whose events matter to them.
	watched map[string]map[*file]struct{}
	// polled gives them by each path that is compared, with what they last saw
	// of it.
	polled map[string]map[*file]stamp
	// dirs counts, for each directory, the uses of the watched paths in it.
	dirs map[string]int
}

func newDependents() dependents {
	return dependents{
		watched: make(map[string]map[*file]struct{}),
		polled:  make(map[string]map[*file]stamp),
		dirs:    make(map[string]int),
	}
}

// replace takes note of what an entry depends on now. It tells whether there
// are directories that were not watched before.
func (d *dependents) replace(f *file, deps []dep) (fresh bool) {
	if len(deps) == 0 && len(f.deps) == 0 {
		return false
	}
	before := len(d.dirs)
	old := f.deps
	f.deps = deps
	for _, dp := range old {
		d.remove(f, dp)
	}
	kept := len(d.dirs)
	for _, dp := range deps {
		d.add(f, dp)
	}
	return len(d.dirs) > kept || before > kept
}

func (d *dependents) add(f *file, dp dep) {
	if dp.polled {
		if d.polled[dp.path] == nil {
			d.polled[dp.path] = make(map[*file]stamp, 1)
		}
		d.polled[dp.path][f] = dp.st
		return
	}
	if d.watched[dp.path] == nil {
		d.watched[dp.path] = make(map[*file]struct{}, 1)
	}
	d.watched[dp.path][f] = struct{}{}
	d.dirs[filepath.Dir(dp.path)]++
}

func (d *dependents) remove(f *file, dp dep) {
	if dp.polled {
		delete(d.polled[dp.path], f)
		if len(d.polled[dp.path]) == 0 {
			delete(d.polled, dp.path)
		}
		return
	}
	delete(d.watched[dp.path], f)
	if len(d.watched[dp.path]) == 0 {
		delete(d.watched, dp.path)
	}
	dir := filepath.Dir(dp.path)
	if d.dirs[dir]--; d.dirs[dir] <= 0 {
		delete(d.dirs, dir)
	}
}

// at adds the names of the entries that an event at a path concerns.
func (d *dependents) at(path string, names []string) []string {
	for f := range d.watched[path] {
		names = append(names, f.name)
	}
	return names
}

// changed adds the names of the entries that saw a polled path otherwise than
// it is now.
func (d *dependents) changed(names []string) []string {
	for path, users := range d.polled {
		st, _ := stat(path) // missing: the zero stamp
		for f, seen := range users {
			if st != seen {
				names = append(names, f.name)
			}
		}
	}
	return names
}
