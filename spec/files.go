package spec

import (
	"errors"
	"path"
	"slices"
	"strings"
)

// FileSources gives every file whose content the object takes in, each once,
// in the order in which they are named. One that is named as required anywhere
// is required.
func (o *Object) FileSources() []FileSource {
	var all []FileSource
	add := func(f *FileSource) {
		if f == nil {
			return
		}
		i := slices.IndexFunc(all, func(g FileSource) bool { return g.Path == f.Path })
		if i < 0 {
			all = append(all, *f)
			return
		}
		all[i].Optional = all[i].Optional && f.Optional
	}
	for i := range o.Spec.EnvFrom {
		add(o.Spec.EnvFrom[i].File)
	}
	for i := range o.Spec.Env {
		if from := o.Spec.Env[i].ValueFrom; from != nil {
			add(from.File)
		}
	}
	return all
}

// ErrNoHome says that a path begins with ~ and there is no home directory.
var ErrNoHome = errors.New("there is no home directory for ~")

// ResolvePath gives the absolute path for one in a manifest: ~ is home, and a
// relative one counts from dir, the directory of the manifest. The empty path
// is dir itself.
func ResolvePath(p, dir, home string) (string, error) {
	switch {
	case p == "~" || strings.HasPrefix(p, "~/"):
		if home == "" {
			return "", ErrNoHome
		}
		return path.Join(home, p[1:]), nil
	case path.IsAbs(p):
		return path.Clean(p), nil
	}
	return path.Join(dir, p), nil
}
