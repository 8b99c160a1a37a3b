package rpc

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Key is an id as a key of maps. Two ids have the same if and only if they are the
// same to their sender: 1, "1" and 1.0 are three, and how a string is escaped does
// not matter.
type Key string

// KeyOf gives the key of an id.
func KeyOf(id json.RawMessage) Key {
	if bytes.IndexByte(id, '\\') < 0 {
		return Key(id)
	}
	// What is decoded and not escaped again is never what another id looks like: that
	// has no backslash and no quote within. Halves of surrogate pairs are left alone.
	if s, ok := Text(id); ok && !strings.ContainsRune(s, utf8.RuneError) {
		return Key(`"` + s + `"`)
	}
	return Key(id)
}

// NumberID gives the id that is the number n.
func NumberID(n int64) json.RawMessage { return strconv.AppendInt(nil, n, 10) }

// Number gives the integer that an id of NumberID is, and false for all others.
func Number(id json.RawMessage) (int64, bool) {
	if len(id) == 0 || len(id) > 19 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return n, err == nil
}

// validID says whether a value of JSON is a string or a number.
func validID(id json.RawMessage) bool {
	c := id[0]
	return c == '"' || c == '-' || '0' <= c && c <= '9'
}
