package source

import "path/filepath"

// places tell where manifests are for whoever reads of them, and for the paths in
// them: in the directory, but for those that are only linked to from it.
type places struct {
	dir    string // as it was given
	linked map[string]string
}

// path is how an entry is shown.
func (p places) path(name string) string {
	if to, ok := p.linked[name]; ok {
		return to
	}
	return filepath.Join(p.dir, name)
}

// base is what relative paths in an entry count from.
func (p places) base(name string) string {
	if to, ok := p.linked[name]; ok {
		return filepath.Dir(to)
	}
	return p.dir
}
