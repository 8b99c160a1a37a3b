package reference

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/proc-controller/proc-controller/spec"
)

// Find gives a field below f by the names on the way to it, or nil.
func (f *Field) Find(names ...string) *Field {
	for _, name := range names {
		i := slices.IndexFunc(f.Fields, func(g *Field) bool { return g.Name == name })
		if i < 0 {
			return nil
		}
		f = f.Fields[i]
	}
	return f
}

// All gives every field below f, each before those in it.
func (f *Field) All() iter.Seq[*Field] {
	return func(yield func(*Field) bool) { f.each(yield) }
}

func (f *Field) each(yield func(*Field) bool) bool {
	for _, sub := range f.Fields {
		if !yield(sub) || !sub.each(yield) {
			return false
		}
	}
	return true
}

// element is the mark of an element of a list: [] or the number of one.
var element = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[[0-9]*\]`) })

// Lookup finds a field by its path as people type it: spec.env[].name,
// spec.env.name, spec.env[0].name, agent.spec.env. The path may begin with a kind,
// which the field then has to be of; kind is empty where it does not. A kind alone
// is the whole manifest. The error says what was probably meant.
func Lookup(path string) (f *Field, kind spec.Kind, err error) {
	names := strings.Split(strings.TrimPrefix(element().ReplaceAllString(path, ""), "."), ".")
	root := Manifest()
	if k, err := spec.ParseKind(names[0]); err == nil && root.Find(names[0]) == nil || len(names) > 1 && err == nil {
		kind, names = k, names[1:]
	}
	f = root
	for i, name := range names {
		next := f.Find(name)
		switch {
		case next == nil && f.Type == "map[string]string":
			return f, kind, nil // the rest is a key, which may have dots
		case next == nil:
			return nil, "", unknown(root, f, names, i)
		case !next.For(kind):
			return nil, "", fmt.Errorf("%s is for kind %s only", next.Path, next.Kinds[0])
		}
		f = next
	}
	return f, kind, nil
}

// unknown says that the i-th name leads nowhere from f: with the field that is
// near there, or the one of that name elsewhere.
func unknown(root, f *Field, names []string, i int) error {
	where := "a manifest"
	if f.Path != "" {
		where = f.Path
	}
	var here []string
	for _, sub := range f.Fields {
		here = append(here, sub.Name)
	}
	meant := ""
	if near := spec.Nearest(names[i], here); near != "" {
		meant = f.Find(near).Path
	} else {
		meant = elsewhere(root, names[i:])
	}
	if meant != "" {
		meant = " (did you mean " + meant + "?)"
	}
	if len(f.Fields) == 0 {
		return fmt.Errorf("%s has no field %q: it is of type %s%s", where, names[i], f.Type, meant)
	}
	return fmt.Errorf("%s has no field %q%s", where, names[i], meant)
}

// elsewhere finds the field, the nearest to the top, whose path ends in the names,
// or whose name is near the last one.
func elsewhere(root *Field, names []string) string {
	var paths, last []string
	for f := range root.All() {
		paths, last = append(paths, f.Path), append(last, f.Name)
	}
	shallow := func(fits func(i int) bool) (best string) {
		for i := range paths {
			if fits(i) && (best == "" || strings.Count(paths[i], ".") < strings.Count(best, ".")) {
				best = paths[i]
			}
		}
		return best
	}
	tail := "." + strings.Join(names, ".")
	if p := shallow(func(i int) bool { return strings.HasSuffix(strings.ReplaceAll(paths[i], "[]", ""), tail) }); p != "" {
		return p
	}
	near := spec.Nearest(names[len(names)-1], last)
	return shallow(func(i int) bool { return near != "" && last[i] == near })
}

// For says that a kind may have the field; the empty kind stands for any.
func (f *Field) For(kind spec.Kind) bool {
	return kind == "" || f.Kinds == nil || slices.Contains(f.Kinds, kind)
}
