package clients

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// Files are read as JSON with comments and trailing commas, which some clients
// write, and others take for JSON.

// node is one value of a file.
type node struct {
	hujson.Value
	file []byte
}

func parseJSON(data []byte) (node, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // as editors on Windows write it
	v, err := hujson.Parse(data)
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "hujson: ")
		return node{}, errors.New(text)
	}
	return node{v, data}, nil
}

// topKeys gives the keys of a JSON object, or why it is none.
func topKeys(data []byte) ([]string, error) {
	n, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	var keys []string
	err = n.each("the file", func(key string, _ node) error {
		keys = append(keys, key)
		return nil
	})
	return keys, err
}

// line is where a value begins, from 1.
func (n node) line() int { return 1 + bytes.Count(n.file[:n.StartOffset], []byte("\n")) }

// wrong is an error about a value.
func (n node) wrong(what, want string) error {
	return fmt.Errorf("line %d: %s is not %s", n.line(), what, want)
}

// each goes through the members of an object. A key that is there twice is an
// error: it is not known which of them counts.
func (n node) each(what string, f func(key string, value node) error) error {
	o, ok := n.Value.Value.(*hujson.Object)
	if !ok {
		return n.wrong(what, "an object")
	}
	seen := map[string]bool{}
	for _, m := range o.Members {
		name, _ := m.Name.Value.(hujson.Literal)
		key, value := name.String(), node{m.Value, n.file}
		if seen[key] {
			return fmt.Errorf("line %d: %s has %s twice", value.line(), what, key)
		}
		seen[key] = true
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}

// text reads a string.
func (n node) text(what string) (string, error) {
	if l, ok := n.Value.Value.(hujson.Literal); ok && l.Kind() == '"' {
		return l.String(), nil
	}
	return "", n.wrong(what, "a string")
}

// scalar reads a string, or a number or boolean as it is written; null is absent.
func (n node) scalar(what string) (value string, present bool, err error) {
	l, ok := n.Value.Value.(hujson.Literal)
	switch {
	case !ok:
		return "", false, n.wrong(what, "a string")
	case l.Kind() == 'n':
		return "", false, nil
	case l.Kind() == '"':
		return l.String(), true, nil
	}
	return string(l), true, nil
}

// truth reads a boolean.
func (n node) truth(what string) (bool, error) {
	if l, ok := n.Value.Value.(hujson.Literal); ok && (l.Kind() == 't' || l.Kind() == 'f') {
		return l.Bool(), nil
	}
	return false, n.wrong(what, "true or false")
}

// texts reads a list of strings.
func (n node) texts(what string) ([]string, error) {
	a, ok := n.Value.Value.(*hujson.Array)
	if !ok {
		return nil, n.wrong(what, "a list")
	}
	var all []string
	for _, e := range a.Elements {
		s, present, err := node{e, n.file}.scalar("an element of " + what)
		if err != nil {
			return nil, err
		}
		if present {
			all = append(all, s)
		}
	}
	return all, nil
}

// elements goes through a list.
func (n node) elements(what string, f func(node) error) error {
	a, ok := n.Value.Value.(*hujson.Array)
	if !ok {
		return n.wrong(what, "a list")
	}
	for _, e := range a.Elements {
		if err := f(node{e, n.file}); err != nil {
			return err
		}
	}
	return nil
}
