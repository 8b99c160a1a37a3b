package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Run is what is kept of a run that went well, for the comparison with a later
// one that did not.
type Run struct {
	Instance  Instance  `json:"instance"`
	StartedAt time.Time `json:"startedAt"`
	Facts
}

// Facts is what a run is made of.
type Facts struct {
	// Fields has a digest of each field that is set, by its path, and of each file
	// whose content the manifest takes in.
	Fields map[string]string `json:"fields,omitempty"`
	// Program is zero where it is not known.
	Program ProgramFile `json:"program,omitzero"`
	// Env are the names of the variables, sorted; nil where they are not known.
	Env []string `json:"env,omitempty"`
}

// FactsOf gives what the manifest of an entry says.
func FactsOf(e *Entry) Facts {
	f := Facts{Fields: map[string]string{}}
	f.take("spec", reflect.ValueOf(&e.Object.Spec).Elem())
	for path, content := range e.Files {
		f.Fields["content of "+path] = digest(content)
	}
	return f
}

// take adds the fields of a value. A list of objects is told by their names where
// they have some, any other list is one field.
func (f Facts) take(path string, v reflect.Value) {
	switch {
	case v.IsZero():
	case v.Kind() == reflect.Pointer:
		f.take(path, v.Elem())
	case v.Kind() == reflect.Struct:
		for _, l := range layouts()[v.Type()] {
			f.take(path+"."+l.name, v.Field(l.index))
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			f.take(path+"["+elementName(v.Index(i), i)+"]", v.Index(i))
		}
	default:
		f.Fields[path] = digest(fmt.Appendf(nil, "%q", fmt.Sprint(v.Interface())))
	}
}

func elementName(v reflect.Value, i int) string {
	for _, l := range layouts()[v.Type()] {
		if l.name == "name" && v.Field(l.index).String() != "" {
			return v.Field(l.index).String()
		}
	}
	return strconv.Itoa(i)
}

// digest tells values apart and does not give them away: 32 bits fit too many.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:4])
}

// ChangesSince compares with a good run. What is not known of one of them has not
// changed.
func (f Facts) ChangesSince(good *Run) *Changes {
	c := &Changes{LastGood: good.Instance, GoodSince: good.StartedAt}
	if f.Fields != nil && good.Fields != nil {
		c.Spec = differing(good.Fields, f.Fields)
	}
	if f.Program.Path != "" && good.Program.Path != "" && !f.Program.same(good.Program) {
		c.Program = &ProgramChange{Was: good.Program, Is: f.Program}
	}
	if f.Env != nil && good.Env != nil {
		c.EnvAdded, c.EnvRemoved = without(f.Env, good.Env), without(good.Env, f.Env)
	}
	return c
}

// Same says that two runs were made of the same.
func (f Facts) Same(g Facts) bool {
	return f.Program.same(g.Program) && maps.Equal(f.Fields, g.Fields) && slices.Equal(f.Env, g.Env)
}

// differing gives the keys, sorted, that have not the same value in both.
func differing(a, b map[string]string) []string {
	var keys []string
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			keys = append(keys, k)
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// without gives those of the sorted names a that are not in the sorted b.
func without(a, b []string) (rest []string) {
	for _, name := range a {
		if _, found := slices.BinarySearch(b, name); !found {
			rest = append(rest, name)
		}
	}
	return rest
}
