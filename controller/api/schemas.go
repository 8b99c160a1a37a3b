package api

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/proc-controller/proc-controller/spec"
)

// schemas makes JSON Schemas of the types that go over the wire. Those with a
// name that is worth one become components, which others refer to.
type schemas struct{ named map[string]reflect.Type }

// newSchemas names the answers of the routes, and what is in several of them.
func newSchemas(routes []route) *schemas {
	s := &schemas{map[string]reflect.Type{}}
	for _, v := range []any{Failure{}, Object{}, spec.Spec{}, Process{}} {
		s.name(v)
	}
	for i := range routes {
		s.name(routes[i].about.answer)
		s.name(routes[i].about.other)
		s.name(routes[i].about.line)
	}
	return s
}

func (s *schemas) name(v any) {
	if t := reflect.TypeOf(v); t != nil && t.Kind() == reflect.Struct {
		s.named[t.Name()] = t
	}
}

// of is the schema of a type: for one with a name, where that is.
func (s *schemas) of(t reflect.Type) (*jsonschema.Schema, error) {
	if s.named[t.Name()] == t {
		return s.reference(t), nil
	}
	return s.spell(t)
}

func (s *schemas) reference(t reflect.Type) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: "#/components/schemas/" + t.Name()}
}

// components gives the schema of each type with a name.
func (s *schemas) components() (map[string]any, error) {
	all := map[string]any{}
	for name, t := range s.named {
		made, err := s.spell(t)
		if err != nil {
			return nil, err
		}
		all[name] = made
	}
	return all, nil
}

// spell gives the schema of a type in full, with references to others.
func (s *schemas) spell(t reflect.Type) (*jsonschema.Schema, error) {
	known := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():     {Type: "string", Format: "date-time"},
		reflect.TypeFor[spec.Duration](): {Type: "string", Description: "a duration as Go writes it: 1m30s"},
		reflect.TypeFor[spec.Kind]():     {Type: "string", Enum: []any{spec.KindAgent, spec.KindMCPServer}},
	}
	for _, other := range s.named {
		if other != t && !embeds(t, other) {
			known[other] = s.reference(other)
		}
	}
	made, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		return nil, fmt.Errorf("cannot describe %v: %v", t, err)
	}
	tidy(made)
	return made, nil
}

// embeds says that the fields of one type are among those of another.
func embeds(t, other reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	return slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous && f.Type == other })
}

// tidy makes a schema of what we write one for others to read: what may be nil in
// Go is left out, and never null, and a later version may add a field.
func tidy(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
	if len(s.Types) == 1 {
		s.Type, s.Types = s.Types[0], nil
	}
	if len(s.Types) == 0 {
		s.Types = nil
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil {
		s.AdditionalProperties = nil
	}
	tidy(s.Items)
	tidy(s.AdditionalProperties)
	for _, p := range s.Properties {
		tidy(p)
	}
}
