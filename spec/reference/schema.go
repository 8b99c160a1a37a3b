package reference

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"

	"github.com/proc-controller/proc-controller/spec"
)

// rules is a JSON Schema, or part of one.
type rules map[string]any

// Schema gives the JSON Schema (draft 2020-12) of one document of a manifest file,
// indented, with a line end. It refuses no workload that spec.Decode takes, and
// lets through some that it refuses: what one field means for another, and how
// YAML reads words that are not quoted, a schema cannot say.
func Schema() []byte {
	root := Manifest()
	s := &schema{defs: rules{}}
	object := s.object(root.is, root)
	object["allOf"] = byKind(root)
	s.defs["Manifest"] = object
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(rules{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "proc-controller manifest, " + spec.APIVersion,
		"description": "A workload that proc-controller keeps running. An object of another API group is skipped, and may be anything.",
		"type":        "object",
		"if":          rules{"required": []string{"apiVersion"}, "properties": rules{"apiVersion": otherGroup()}},
		"then":        true,
		"else":        rules{"$ref": "#/$defs/Manifest"},
		"$defs":       s.defs,
	})
	if err != nil {
		panic("reference: " + err.Error()) // all of it is plain data
	}
	return b.Bytes()
}

// otherGroup is the apiVersion of what is none of our business. Of the mistyped
// ones that spec takes for ours it takes the likely ones.
func otherGroup() rules {
	return rules{"type": "string", "minLength": 1, "not": rules{"pattern": `^(proc-contr[a-z]{3,7}\.dev|` + spec.Version + `)(/|$)`}}
}

// byKind refuses the fields that a kind may not have.
func byKind(root *Field) []any {
	var cases []any
	for _, kind := range spec.ChoicesOf(reflect.TypeFor[spec.Kind]()) {
		refused := rules{}
		for _, f := range root.Find("spec").Fields {
			switch {
			case f.Kinds == nil || string(f.Kinds[0]) == kind:
			case f.is.Kind() == reflect.Slice:
				refused[f.Name] = rules{"maxItems": 0}
			default:
				refused[f.Name] = false
			}
		}
		cases = append(cases, rules{
			"if":   rules{"required": []string{"kind"}, "properties": rules{"kind": rules{"const": kind}}},
			"then": rules{"properties": rules{"spec": rules{"properties": refused}}},
		})
	}
	return cases
}

// schema collects the types that are referred to.
type schema struct{ defs rules }

// object gives the rules of a struct, whose fields are those of f.
func (s *schema) object(t reflect.Type, f *Field) rules {
	properties, needed := rules{}, []string{}
	for _, sub := range f.Fields {
		properties[sub.Name] = s.field(sub)
		if sub.Required {
			needed = append(needed, sub.Name)
		}
	}
	r := rules{"type": "object", "additionalProperties": false, "properties": properties}
	if len(needed) > 0 {
		r["required"] = needed
	}
	var ways []any
	for _, name := range exactlyOne[t.Name()] {
		ways = append(ways, rules{"required": []string{name}})
	}
	if ways != nil {
		r["oneOf"] = ways
	}
	if t == reflect.TypeFor[spec.EnvVar]() {
		r["not"] = rules{"required": []string{"value", "valueFrom"}, "properties": rules{"value": rules{"minLength": 1}}}
	}
	return r
}

// field gives the rules of a field, with what an editor shows.
func (s *schema) field(f *Field) rules {
	r := s.value(f.is, f)
	r["description"] = f.text()
	if f.Default != nil {
		r["default"] = f.Default
	}
	maps.Copy(r, bounds()[f.id])
	maps.DeleteFunc(r, func(_ string, v any) bool { return v == nil })
	return r
}

// text is what is said of a field in one paragraph.
func (f *Field) text() string {
	text := f.Doc
	if f.Choices != nil && f.About != "" {
		text += " " + f.About
	}
	switch f.Change {
	case ChangeRestart:
		text += " A change restarts the workload."
	case ChangeLive:
		text += " A change restarts nothing."
	}
	return text
}

// value gives the rules of the values of a type.
func (s *schema) value(t reflect.Type, f *Field) rules {
	switch {
	case f.Choices != nil:
		return rules{"enum": f.Choices}
	case f.loose:
		return rules{"type": []string{"string", "number"}}
	case t == reflect.TypeFor[spec.Duration]():
		return rules{"type": "string", "pattern": duration}
	}
	switch t.Kind() {
	case reflect.Slice:
		return rules{"type": "array", "items": s.value(t.Elem(), f)}
	case reflect.Map:
		return rules{"type": "object", "additionalProperties": rules{"type": "string"}}
	case reflect.Struct:
		return s.reference(t, f)
	case reflect.Bool:
		return rules{"type": "boolean"}
	case reflect.Int32:
		return rules{"type": "integer", "maximum": 1<<31 - 1}
	case reflect.Int64:
		return rules{"type": "integer"}
	case reflect.Float64:
		return rules{"type": "number"}
	}
	return rules{"type": "string"}
}

// reference refers to a type, which is described once.
func (s *schema) reference(t reflect.Type, f *Field) rules {
	if _, done := s.defs[t.Name()]; !done {
		s.defs[t.Name()] = nil // a type is in none of its own fields
		s.defs[t.Name()] = s.object(t, f)
		s.defs[t.Name()].(rules)["description"] = f.About
	}
	return rules{"$ref": "#/$defs/" + t.Name()}
}
