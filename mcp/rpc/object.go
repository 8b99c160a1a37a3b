package rpc

import (
	"bytes"
	"encoding/json"
	"iter"
)

// What is in this file walks over JSON that is known to be valid, and neither
// decodes nor copies it. Of what is no valid JSON anything may come out, but it
// always comes to an end.

// Members gives the names (with their quotes, as they stand there) and values of an
// object; nothing for what is none.
func Members(object []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		s := scanner{b: object}
		if !s.open('{') {
			return
		}
		for s.more('}') {
			name := s.value()
			s.blanks()
			s.at++ // the colon
			value := s.value()
			if len(name) == 0 || len(value) == 0 || !yield(name, value) {
				return
			}
		}
	}
}

// Items gives the values of an array; nothing for what is none.
func Items(array []byte) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		s := scanner{b: array}
		if !s.open('[') {
			return
		}
		for s.more(']') {
			item := s.value()
			if len(item) == 0 || !yield(item) {
				return
			}
		}
	}
}

// Get gives the value that the path of names leads to, or nil. The last one counts
// where a name is there twice, as it does to nearly every decoder.
func Get(object json.RawMessage, path ...string) json.RawMessage {
	for _, want := range path {
		var found json.RawMessage
		for name, value := range Members(object) {
			if sameName(name, want) {
				found = value
			}
		}
		if object = found; object == nil {
			return nil
		}
	}
	return object
}

// Set gives a copy of object in which the value that the path leads to is replaced,
// or added; a nil value takes it away. Objects on the way that are not there are
// made.
func Set(object, value json.RawMessage, path ...string) json.RawMessage {
	if len(path) == 0 {
		return value
	}
	out := make([]byte, 0, len(object)+len(value)+len(path[0])+8)
	out = append(out, '{')
	var old json.RawMessage
	for name, v := range Members(object) {
		if sameName(name, path[0]) {
			old = v
			continue
		}
		out = appendMember(out, name, v)
	}
	if len(path) > 1 && (value != nil || old != nil) {
		value = Set(old, value, path[1:]...)
	}
	if value != nil {
		out = appendMember(out, AppendText(nil, path[0]), value)
	}
	return append(out, '}')
}

func appendMember(b, name, value []byte) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(append(b, name...), ':')
	return append(b, value...)
}

// sameName compares a name as it stands in JSON with one as it is meant.
func sameName(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return len(quoted) == len(name)+2 && string(quoted[1:len(quoted)-1]) == name
	}
	s, ok := Text(quoted)
	return ok && s == name
}

// Text gives the string that a value of JSON is, and false where it is none.
func Text(value json.RawMessage) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(value, '\\') < 0 && ascii(value) {
		return string(value[1 : len(value)-1]), true
	}
	var s string
	err := json.Unmarshal(value, &s)
	return s, err == nil
}

// AppendText writes a string as JSON to b.
func AppendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			q, _ := json.Marshal(s) // of a string it cannot fail
			return append(b, q...)
		}
	}
	b = append(append(b, '"'), s...)
	return append(b, '"')
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c > '~' {
			return false
		}
	}
	return true
}

// Add gives object with a member at its end, without looking whether there is one of
// that name already. What is no object becomes one.
func Add(object, value json.RawMessage, name string) json.RawMessage {
	end := bytes.LastIndexByte(object, '}')
	if end < 0 {
		return Set(nil, value, name)
	}
	out := make([]byte, 0, len(object)+len(name)+len(value)+4)
	out = append(out, bytes.TrimRight(object[:end], " \t\r\n")...)
	return append(appendMember(out, AppendText(nil, name), value), '}')
}

// Without gives a copy of object without the members of these names.
func Without(object json.RawMessage, names ...string) json.RawMessage {
	out := append(make([]byte, 0, len(object)), '{')
next:
	for name, value := range Members(object) {
		for _, n := range names {
			if sameName(name, n) {
				continue next
			}
		}
		out = appendMember(out, name, value)
	}
	return append(out, '}')
}
