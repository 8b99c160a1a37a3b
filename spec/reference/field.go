package reference

import (
	"reflect"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

// Change is what becomes of a workload that runs when a field is changed.
type Change string

// The changes. ChangeMixed is that of a field that holds others which differ,
// ChangeNone that of one that can have one value only.
const (
	ChangeNone     Change = ""
	ChangeIdentity Change = "Identity" // it is another workload
	ChangeLive     Change = "Live"     // nothing is restarted
	ChangeRestart  Change = "Restart"  // it is restarted
	ChangeMixed    Change = "Mixed"
)

// Field is one field of a manifest, with those in it.
type Field struct {
	Name string `json:"name"`
	// Path is the way from the top of the manifest; [] stands for any element of
	// a list.
	Path string `json:"path"`
	// Type is the name of the type, as in []Port.
	Type string `json:"type"`
	// Required says that it has to be there wherever the field that it is in is.
	Required bool `json:"required,omitempty"`
	// Default is what it is where it is not written; nil where that is nothing or
	// follows from other fields.
	Default any `json:"default,omitempty"`
	// Choices are the words that it may have.
	Choices []string `json:"choices,omitempty"`
	// Kinds are those that may have it; nil for all.
	Kinds  []spec.Kind `json:"kinds,omitempty"`
	Change Change      `json:"change,omitempty"`
	// Doc says what it is for, About what its type is, or its choices.
	Doc    string   `json:"doc"`
	About  string   `json:"about,omitempty"`
	Fields []*Field `json:"fields,omitempty"`

	id    string       // Type.Field, as comments and bounds know it
	is    reflect.Type // without pointers
	loose bool         // text that may be written as a number
}

// builder makes fields from types.
type builder struct {
	comments map[string]string
	defaults map[string]any
}

// Manifest gives the tree of all fields, as a field without a name. It is made
// anew for each call, and the caller's.
func Manifest() *Field {
	b := &builder{comments: comments(), defaults: defaults()}
	t := reflect.TypeFor[spec.Object]()
	root := &Field{
		Type: "manifest", Doc: b.comments[t.Name()], Change: ChangeMixed, Required: true,
		Fields: b.fieldsOf(t, "", nil), is: t,
	}
	return root
}

// fieldsOf gives the fields of a struct that stands at path. The change is the
// one of what they are in; nil where each has its own.
func (b *builder) fieldsOf(t reflect.Type, path string, change *Change) []*Field {
	fields := make([]*Field, 0, t.NumField())
	for sf := range t.Fields() {
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		id := t.Name() + "." + sf.Name
		f := &Field{
			Name: name, Path: strings.TrimPrefix(path+"."+name, "."), Required: required[id], Kinds: kinds[id],
			Doc: b.comments[id], Default: b.defaults[id],
			id: id, loose: sf.Tag.Get("unquoted") == "number",
		}
		f.Change = changeOf(f.Path)
		if change != nil {
			f.Change = *change
		}
		b.shape(f, sf.Type)
		fields = append(fields, f)
	}
	return fields
}

// shape fills in what follows from the type.
func (b *builder) shape(f *Field, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	f.is, f.Type = t, typeName(t, f.loose)
	inner, path := t, f.Path
	if t.Kind() == reflect.Slice {
		inner, path = t.Elem(), path+"[]"
	}
	if f.Choices = spec.ChoicesOf(t); f.Choices != nil {
		f.About = b.comments[t.Name()+".values"]
	}
	if inner.Kind() != reflect.Struct {
		return
	}
	f.About = b.comments[inner.Name()]
	change := &f.Change
	if f.Change == ChangeMixed {
		change = nil
	}
	f.Fields = b.fieldsOf(inner, path, change)
}

// changeOf tells it for the fields that do not have it from the one that they are
// in.
func changeOf(path string) Change {
	top, below, _ := strings.Cut(path, ".")
	switch {
	case top == "apiVersion":
		return ChangeNone
	case top == "kind" || path == "metadata.name":
		return ChangeIdentity
	case below == "":
		return ChangeMixed
	case top == "spec" && spec.NeedsRestart(below):
		return ChangeRestart
	}
	return ChangeLive
}

// typeName is the name of a type as it is shown, in the manner of kubectl.
func typeName(t reflect.Type, loose bool) string {
	switch {
	case loose:
		return "string or number"
	case t == reflect.TypeFor[spec.Duration]():
		return "duration"
	}
	switch t.Kind() {
	case reflect.Slice:
		return "[]" + typeName(t.Elem(), false)
	case reflect.Map:
		return "map[string]string"
	case reflect.Struct:
		return t.Name()
	case reflect.Bool:
		return "boolean"
	case reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	}
	return "string"
}
