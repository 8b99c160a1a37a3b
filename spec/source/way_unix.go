//go:build linux || darwin || freebsd

package source

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many symbolic links the kernel follows (path_resolution(7)).
const maxLinks = 40

// walk follows an absolute path component by component. Directories and links
// are judged by t, which may be nil; what the path ends in is not. On error the
// way says how far it came.
func walk(path string, t *trust) (way, error) {
	return walkFrom("/", path, t)
}

// walkFrom follows a path that is relative to dir, or absolute. What lies above
// dir is taken to be judged already.
func walkFrom(dir, path string, t *trust) (way, error) {
	w := way{real: dir}
	todo := components(path)
	if filepath.IsAbs(path) {
		w.real = "/"
	}
	var err error
	if w.end, err = lstat(w.real); err != nil {
		return w, err
	}
	for links := 0; len(todo) > 0; {
		next := step(w.real, todo[0])
		todo = todo[1:]
		st, err := lstat(next)
		if err != nil {
			w.via = append(w.via, next)
			return w, err
		}
		if st.mode&fs.ModeSymlink == 0 {
			w.judge(t, next, st, len(todo) > 0)
			w.real, w.end = next, st
			continue
		}
		w.via = append(w.via, next)
		if links++; links > maxLinks {
			return w, errLinkLoop
		}
		target, err := os.Readlink(next)
		if err != nil {
			return w, err
		}
		w.judgeLink(t, next, st)
		todo = append(components(target), todo...)
		if filepath.IsAbs(target) {
			w.real = "/"
		}
	}
	w.via = append(w.via, w.real)
	return w, nil
}

// judge keeps the first reason to distrust a directory on the way.
func (w *way) judge(t *trust, path string, st stamp, parent bool) {
	if t != nil && parent && w.distrust == nil {
		w.distrust = t.parent(path, st)
	}
}

// judgeLink keeps the first reason to distrust a link on the way. A link's own
// mode says nothing; who made it does, since in a sticky directory anybody may
// have.
func (w *way) judgeLink(t *trust, path string, st stamp) {
	if t != nil && w.distrust == nil {
		w.distrust = t.owner(path, st)
	}
}

func components(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

func step(dir, name string) string {
	switch {
	case name == ".":
		return dir
	case name == "..":
		return filepath.Dir(dir)
	case dir == "/":
		return dir + name
	}
	return dir + "/" + name
}
