package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Hash stands for the part of a spec whose change needs a restart: 16
// hexadecimal digits.
type Hash string

func (h Hash) valid() bool {
	return len(h) == 2*hashBytes && all(string(h), func(c byte) bool { return isLowerAlnum(c) && c <= 'f' })
}

// hashBytes is how much of the SHA-256 is kept. 64 bits do: a hash is only
// compared with the others of the same workload.
const hashBytes = 8

// neverRestarts are the fields whose change acts on what runs already, or on
// the next start only. They are not in the hash, with one exception: the mcp of a
// stdio server, whose bridge takes it in when it starts (see appendStdio).
var neverRestarts = []string{
	"replicas",
	"suspend",
	"restartPolicy",
	"backoff",
	"stopSignal",
	"terminationGracePeriodSeconds",
	"killMode",
	"startupProbe",
	"readinessProbe",
	"livenessProbe",
	"mcp",
	"a2a",
	"dependsOn",
	"strategy",
	"lifecycle",
	"successExitCodes",
	"logs",
}

// restarts are the fields that a process takes in when it starts. They are in
// the hash. Every field of Spec is on one of the two lists; metadata is in no
// hash.
var restarts = []string{
	"args",
	"command",
	"env",
	"envFrom",
	"inheritEnv",
	"mcpServers",
	"onControllerExit",
	"ports",
	"resources",
	"scope",
	"user",
	"workingDir",
}

// HashOf gives the restart hash of an object that Decode returned, with the
// content of the files that it names (see Entry.Files).
//
// A field that has its default is left out, so that a release with a new field
// finds the hashes of processes that an older one started. For the same reason
// the encoding must never change; golden hashes in testdata hold it in place.
// Values are taken as they are written: what they expand to is not in it, and
// what is inherited from the controller's environment neither.
func HashOf(o *Object, files map[string][]byte) Hash {
	buf := make([]byte, 0, 1024)
	spec := reflect.ValueOf(&o.Spec).Elem()
	fields := hashedFields()
	for i := range fields {
		f := &fields[i]
		mark := len(buf)
		buf = appendField(buf, f.name, spec.Field(f.index))
		if string(buf[mark:]) == f.unset {
			buf = buf[:mark]
		}
	}
	buf = appendStdio(buf, &o.Spec)
	for _, f := range o.FileSources() {
		// A missing optional file is the same as an empty one.
		if content := files[f.Path]; len(content) > 0 {
			buf = appendText(append(buf, "file "...), f.Path)
			buf = appendText(buf, content)
		}
	}
	sum := sha256.Sum256(buf)
	return Hash(hex.EncodeToString(sum[:hashBytes]))
}

// hashedField is a field that is in the hash. unset is what a field of Spec is
// encoded to when it has its default.
type hashedField struct {
	name  string
	index int
	unset string
}

var hashedFields = sync.OnceValue(func() []hashedField {
	defaults := reflect.ValueOf(Defaulted(Spec{}))
	var hashed []hashedField
	for _, f := range layouts()[defaults.Type()] {
		if !slices.Contains(neverRestarts, f.name) {
			f.unset = string(appendField(nil, f.name, defaults.Field(f.index)))
			hashed = append(hashed, f)
		}
	}
	return hashed
})

// layouts are the fields of Spec and of each struct in it, in the order of
// their names, so that fields may be moved in the type.
var layouts = sync.OnceValue(func() map[reflect.Type][]hashedField {
	m := map[reflect.Type][]hashedField{}
	addLayout(m, reflect.TypeFor[Spec]())
	return m
})

func addLayout(m map[reflect.Type][]hashedField, t reflect.Type) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || m[t] != nil {
		return
	}
	for i := range t.NumField() {
		m[t] = append(m[t], hashedField{name: jsonName(t.Field(i)), index: i})
		addLayout(m, t.Field(i).Type)
	}
	slices.SortFunc(m[t], func(a, b hashedField) int { return strings.Compare(a.name, b.name) })
}

func appendField(buf []byte, name string, v reflect.Value) []byte {
	buf = append(append(buf, name...), '=')
	return append(appendValue(buf, v), '\n')
}

// appendValue writes a value so that no two different ones are written alike:
// texts with their length, lists with their number, objects as the fields that
// are not zero.
func appendValue(buf []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.String:
		return appendText(buf, v.String())
	case reflect.Bool:
		return strconv.AppendBool(buf, v.Bool())
	case reflect.Int32, reflect.Int64:
		return strconv.AppendInt(buf, v.Int(), 10)
	case reflect.Pointer:
		if v.IsNil() {
			return append(buf, '-')
		}
		return appendValue(append(buf, '&'), v.Elem())
	case reflect.Slice:
		buf = append(strconv.AppendInt(append(buf, '['), int64(v.Len()), 10), ':')
		for i := range v.Len() {
			buf = appendValue(buf, v.Index(i))
		}
		return append(buf, ']')
	case reflect.Struct:
		return appendStruct(buf, v)
	}
	panic("spec: the hash cannot take a " + v.Type().String())
}

func appendStruct(buf []byte, v reflect.Value) []byte {
	buf = append(buf, '{')
	for _, f := range layouts()[v.Type()] {
		if fv := v.Field(f.index); !fv.IsZero() {
			buf = appendField(buf, f.name, fv)
		}
	}
	return append(buf, '}')
}

func appendText[T string | []byte](buf []byte, s T) []byte {
	buf = strconv.AppendInt(buf, int64(len(s)), 10)
	return append(append(buf, ':'), s...)
}
