//go:build !(linux || darwin || freebsd)

package source

import "path/filepath"

// walk follows an absolute path. Nothing is judged: there is no notion of
// ownership here that could be.
func walk(path string, _ *trust) (way, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return way{real: path, via: []string{path}}, err
	}
	end, err := lstat(real)
	return way{real: real, via: []string{path, real}, end: end}, err
}

// walkFrom follows a path that is relative to dir, or absolute.
func walkFrom(dir, path string, t *trust) (way, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return walk(path, t)
}
