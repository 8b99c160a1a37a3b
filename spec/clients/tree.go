package clients

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kind is what a value of a file is.
type kind byte

const (
	null kind = iota
	truth
	number
	text
	list
	object
)

// node is one value of a file, whatever the file is written in.
type node struct {
	kind kind
	// raw is a text as it is meant; a number or boolean as it is written.
	raw     string
	members []member // of an object, in the order of the file
	items   []*node  // of a list
	line    int      // where it begins, from 1
	// start and end are its place in a file that is written in JSON.
	start, end int
}

// member is one value of an object.
type member struct {
	name  string
	value *node
	at    int // where the name begins in a file that is written in JSON
}

// wrong is an error about a value.
func (n *node) wrong(what, want string) error {
	return fmt.Errorf("line %d: %s is not %s", n.line, what, want)
}

// get gives a value by the names that lead to it; nil where there is none.
func (n *node) get(names ...string) *node {
	for _, name := range names {
		if n == nil || n.kind != object {
			return nil
		}
		i := slices.IndexFunc(n.members, func(m member) bool { return m.name == name })
		if i < 0 {
			return nil
		}
		n = n.members[i].value
	}
	return n
}

// each goes through the members of an object. A key that is there twice is an
// error: it is not known which of them counts.
func (n *node) each(what string, f func(key string, value *node) error) error {
	if n.kind != object {
		return n.wrong(what, "an object")
	}
	if twice := n.twice(); twice != nil {
		return fmt.Errorf("line %d: %s has %s twice", twice.value.line, what, twice.name)
	}
	for _, m := range n.members {
		if err := f(m.name, m.value); err != nil {
			return err
		}
	}
	return nil
}

// twice is the second member of a name; nil where there is none.
func (n *node) twice() *member {
	seen := map[string]bool{}
	for i := range n.members {
		if seen[n.members[i].name] {
			return &n.members[i]
		}
		seen[n.members[i].name] = true
	}
	return nil
}

// text reads a string.
func (n *node) text(what string) (string, error) {
	if n.kind == text {
		return n.raw, nil
	}
	return "", n.wrong(what, "a string")
}

// scalar reads a string, or a number or boolean as it is written; null is absent.
func (n *node) scalar(what string) (value string, present bool, err error) {
	switch n.kind {
	case list, object:
		return "", false, n.wrong(what, "a string")
	case null:
		return "", false, nil
	}
	return n.raw, true, nil
}

// truth reads a boolean.
func (n *node) truth(what string) (bool, error) {
	if n.kind == truth {
		return n.raw == "true", nil
	}
	return false, n.wrong(what, "true or false")
}

// texts reads a list of strings.
func (n *node) texts(what string) (all []string, err error) {
	err = n.elements(what, func(e *node) error {
		s, present, err := e.scalar("an element of " + what)
		if present {
			all = append(all, s)
		}
		return err
	})
	return all, err
}

// elements goes through a list.
func (n *node) elements(what string, f func(*node) error) error {
	if n.kind != list {
		return n.wrong(what, "a list")
	}
	for _, e := range n.items {
		if err := f(e); err != nil {
			return err
		}
	}
	return nil
}

// canonical writes a value so that two are written alike exactly if they mean the
// same, whatever the order of the members. Of values that every syntax has it is
// JSON.
func (n *node) canonical() string {
	var b strings.Builder
	n.writeCanonical(&b)
	return b.String()
}

func (n *node) writeCanonical(b *strings.Builder) {
	switch n.kind {
	case null:
		b.WriteString("null")
	case truth, number:
		b.WriteString(n.raw)
	case text:
		b.WriteString(quoteJSON(n.raw))
	case list:
		b.WriteByte('[')
		for i, e := range n.items {
			separate(b, i)
			e.writeCanonical(b)
		}
		b.WriteByte(']')
	case object:
		sorted := slices.Clone(n.members)
		slices.SortStableFunc(sorted, func(x, y member) int { return strings.Compare(x.name, y.name) })
		b.WriteByte('{')
		for i, m := range sorted {
			separate(b, i)
			b.WriteString(quoteJSON(m.name) + ":")
			m.value.writeCanonical(b)
		}
		b.WriteByte('}')
	}
}

func separate(b *strings.Builder, i int) {
	if i > 0 {
		b.WriteByte(',')
	}
}

// holds says that a value has all that another one has: what a client has added to
// an object does not matter.
func (n *node) holds(want *node) bool {
	if n == nil {
		return false
	}
	if want.kind != object {
		return n.canonical() == want.canonical()
	}
	for _, m := range want.members {
		if !n.get(m.name).holds(m.value) {
			return false
		}
	}
	return n.kind == object
}

// What is written is made of these.

func textNode(s string) *node { return &node{kind: text, raw: s} }

func truthNode(v bool) *node { return &node{kind: truth, raw: strconv.FormatBool(v)} }

func numberNode(v int) *node { return &node{kind: number, raw: strconv.Itoa(v)} }

func listNode(words []string) *node {
	n := &node{kind: list}
	for _, w := range words {
		n.items = append(n.items, textNode(w))
	}
	return n
}

// with is an object with one member more.
func (n *node) with(name string, value *node) *node {
	n.members = append(n.members, member{name: name, value: value})
	return n
}

func objectNode() *node { return &node{kind: object} }
