package spec

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// shape is what a value in a manifest must look like.
type shape uint8

const (
	shapeText     shape = iota // a string
	shapeLoose                 // a string that may be written as a number
	shapeChoice                // one of a few words
	shapeDuration              // "1m30s"
	shapeFlag                  // true or false
	shapeWhole                 // a whole number of bits bits
	shapeDecimal               // a number
	shapeObject                // fields
	shapeList                  // elem, any number of times
	shapeMap                   // string to string
)

// schema is what the decoder knows about a type. It is derived from the Go
// types, so that they stay the only place where a field is declared.
type schema struct {
	shape   shape
	bits    int
	choices []string
	elem    *schema
	fields  []field
	names   []string
}

// field is one field of an object. key is its name as a JSON key with colon.
type field struct {
	name   string
	key    string
	schema *schema
}

// maxFields is how many fields one object may have: the decoder keeps a fixed
// array of those that it has seen.
const maxFields = 32

// choices lists the words that a type of words may have.
var choices = map[reflect.Type][]string{
	reflect.TypeFor[RestartPolicy]():       {string(RestartAlways), string(RestartOnFailure), string(RestartNever)},
	reflect.TypeFor[OnControllerExit]():    {string(ExitStop), string(ExitKeep)},
	reflect.TypeFor[KillMode]():            {string(KillTree), string(KillGroup)},
	reflect.TypeFor[ScopePolicy]():         {string(ScopeAuto), string(ScopeRequired), string(ScopeOff)},
	reflect.TypeFor[Scheme]():              {string(SchemeHTTP), string(SchemeHTTPS)},
	reflect.TypeFor[Transport]():           {string(TransportHTTP), string(TransportSSE), string(TransportStdio)},
	reflect.TypeFor[Sharing]():             {string(SharingShared), string(SharingPerSession)},
	reflect.TypeFor[Protocol]():            {string(ProtocolAuto), string(ProtocolLegacy), string(ProtocolModern)},
	reflect.TypeFor[DependencyCondition](): {string(DependencyStarted), string(DependencyReady), string(DependencyCompleted)},
	reflect.TypeFor[OnRestart]():           {string(OnRestartIgnore), string(OnRestartRestart)},
	reflect.TypeFor[StrategyType]():        {string(Recreate), string(BlueGreen)},
	reflect.TypeFor[Kind]():                {string(KindAgent), string(KindMCPServer)},
}

// objectSchema is that of a whole object. Who decodes nothing does not pay for it.
var objectSchema = sync.OnceValue(func() *schema { return schemaOf(reflect.TypeFor[Object]()) })

func schemaOf(t reflect.Type) *schema {
	if c := choices[t]; c != nil {
		return &schema{shape: shapeChoice, choices: c}
	}
	if t == reflect.TypeFor[Duration]() {
		return &schema{shape: shapeDuration}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.String:
		return &schema{shape: shapeText}
	case reflect.Bool:
		return &schema{shape: shapeFlag}
	case reflect.Int32, reflect.Int64:
		return &schema{shape: shapeWhole, bits: t.Bits()}
	case reflect.Float64:
		return &schema{shape: shapeDecimal}
	case reflect.Slice:
		return &schema{shape: shapeList, elem: schemaOf(t.Elem())}
	case reflect.Map:
		return &schema{shape: shapeMap}
	case reflect.Struct:
		return structSchema(t)
	}
	panic(fmt.Sprintf("spec: a manifest cannot hold a %v", t))
}

func structSchema(t reflect.Type) *schema {
	if t.NumField() > maxFields {
		panic(fmt.Sprintf("spec: %v has more than %d fields", t, maxFields))
	}
	s := &schema{shape: shapeObject}
	for f := range t.Fields() {
		fs := schemaOf(f.Type)
		if f.Tag.Get("unquoted") == "number" {
			fs = &schema{shape: shapeLoose}
		}
		name := jsonName(f)
		s.fields = append(s.fields, field{name: name, key: `"` + name + `":`, schema: fs})
		s.names = append(s.names, name)
	}
	return s
}

// jsonName is the name of a struct field in a manifest.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// index finds a field by its exact name, or gives -1. The objects are small:
// walking the names is quicker than a map.
func (s *schema) index(name string) int {
	for i := range s.fields {
		if s.fields[i].name == name {
			return i
		}
	}
	return -1
}
