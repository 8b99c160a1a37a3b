package clients

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// syntax changes the text of a file: bytes in, bytes out. What is not meant stays as
// it is. Texts have no byte order mark.
type syntax interface {
	parse(data []byte) (*node, error)
	// put adds an entry that is not there.
	put(data []byte, way []string, name string, value *node, r *Record) ([]byte, error)
	// replace gives one that is there another value.
	replace(data []byte, way []string, name string, value *node) ([]byte, error)
	// cut takes one out, and undoes what put has done for its sake.
	cut(data []byte, way []string, name string, r *Record) ([]byte, error)
}

// Outcome is what became of one entry.
type Outcome string

// The outcomes.
const (
	Added   Outcome = "added"
	Updated Outcome = "updated"
	Same    Outcome = "unchanged"
	Removed Outcome = "removed"
	// Edited: it is ours, and somebody has changed it; it stays as it is.
	Edited Outcome = "edited"
	// Foreign: it has the name of one of ours, and is not; it stays as it is.
	Foreign Outcome = "foreign"
)

// Change is what becomes of a file.
type Change struct {
	Text []byte
	// Record is what is known of the file after that.
	Record *Record
	// Outcomes are those of the entries that were asked for, by name.
	Outcomes map[string]Outcome
}

// change is one on its way.
type change struct {
	Change
	client *Client
	mark   []byte // the byte order mark
	way    []string
	before *node
	force  bool
}

// open reads a file, and finds where its entries are.
func (c *Client) open(data []byte, r *Record, force bool) (*change, error) {
	ch := &change{client: c, force: force}
	if bytes.HasPrefix(data, byteOrderMark) {
		ch.mark, data = byteOrderMark, data[len(byteOrderMark):]
	}
	ch.Text, ch.Record, ch.Outcomes = data, r.clone(), map[string]Outcome{}
	ch.before = objectNode()
	if len(bytes.TrimSpace(data)) > 0 {
		var err error
		if ch.before, err = c.syntax.parse(data); err != nil {
			return nil, err
		}
	}
	ch.way = c.wayIn(ch.before)
	return ch, ch.sound()
}

// sound fails where it is not clear what the entries are.
func (ch *change) sound() error {
	at := ch.before
	for i := 0; at != nil && i <= len(ch.way); i++ {
		what := "the file"
		if i > 0 {
			what = strings.Join(ch.way[:i], ".")
		}
		switch twice := at.twice(); {
		case at.kind == null && i > 0:
			return nil // nothing is in it, and put knows what to make of it
		case at.kind != object:
			return at.wrong(what, "an object")
		case twice != nil:
			return fmt.Errorf("line %d: %s has %s twice", twice.value.line, what, twice.name)
		}
		if i < len(ch.way) {
			at = at.get(ch.way[i])
		}
	}
	return nil
}

// Merge puts entries into the text of a file. Of what is there only entries of ours
// are changed, and of those what nobody has edited, unless force is set. A record of
// a file that nothing was written into is empty. The text that comes out was read
// again: it has the entries, and all else as it was.
func (c *Client) Merge(data []byte, r *Record, want []Entry, force bool) (*Change, error) {
	ch, err := c.open(data, r, force)
	if err != nil {
		return nil, err
	}
	if _, first := c.syntax.(yamlText); first { // so that they stand in their order
		want = slices.Clone(want)
		slices.Reverse(want)
	}
	for i := range want {
		if err := ch.set(&want[i]); err != nil {
			return nil, err
		}
	}
	return ch.finish()
}

// set brings one entry about.
func (ch *change) set(e *Entry) (err error) {
	there := ch.before.get(append(slices.Clone(ch.way), e.Name)...)
	owned := ch.Record.Entries[e.Name]
	wanted := e.value.canonical()
	switch {
	case there == nil:
		ch.Record.Entries[e.Name] = &Owned{Value: wanted}
		ch.Outcomes[e.Name] = Added
		ch.Text, err = ch.client.syntax.put(ch.Text, ch.way, e.Name, e.value, ch.Record)
	case there.holds(e.value):
		ch.Outcomes[e.Name] = Same
		if owned != nil && owned.is(there) {
			owned.Value, owned.Former = wanted, ""
		}
	case owned == nil:
		ch.Outcomes[e.Name] = Foreign
	case !owned.is(there) && !ch.force:
		ch.Outcomes[e.Name] = Edited
	default:
		owned.Value, owned.Former = wanted, ""
		ch.Outcomes[e.Name] = Updated
		ch.Text, err = ch.client.syntax.replace(ch.Text, ch.way, e.Name, e.value)
	}
	if err != nil {
		return fmt.Errorf("cannot put %s in: %w", e.Name, err)
	}
	return nil
}

// Strip takes entries of ours out of the text of a file; all of them, where no names
// are given. What somebody has edited stays, unless force is set.
func (c *Client) Strip(data []byte, r *Record, names []string, force bool) (*Change, error) {
	ch, err := c.open(data, r, force)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = r.Names()
	}
	for _, name := range names {
		owned := r.Entries[name]
		there := ch.before.get(append(slices.Clone(ch.way), name)...)
		switch {
		case owned == nil && there == nil:
			ch.Outcomes[name] = Same
		case owned == nil:
			ch.Outcomes[name] = Foreign
		case there == nil:
			ch.Outcomes[name] = Removed
			delete(ch.Record.Entries, name)
		case !owned.is(there) && !force:
			ch.Outcomes[name] = Edited
		default:
			ch.Outcomes[name] = Removed
			if ch.Text, err = c.syntax.cut(ch.Text, ch.way, name, ch.Record); err != nil {
				return nil, fmt.Errorf("cannot take %s out: %w", name, err)
			}
			delete(ch.Record.Entries, name)
		}
	}
	return ch.finish()
}

// Names are those of the entries that are ours, sorted.
func (r *Record) Names() (names []string) {
	for name := range r.Entries {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// errUnforeseen says that a change would have done something else than was meant.
var errUnforeseen = errors.New("the file is written in a way that was not foreseen here: nothing was changed")

// finish reads what was made again, and compares.
func (ch *change) finish() (*Change, error) {
	after := objectNode()
	if len(bytes.TrimSpace(ch.Text)) > 0 {
		var err error
		if after, err = ch.client.syntax.parse(ch.Text); err != nil {
			return nil, errUnforeseen
		}
	}
	for name, outcome := range ch.Outcomes {
		there := after.get(append(slices.Clone(ch.way), name)...)
		switch outcome {
		case Added, Updated:
			if there == nil || there.canonical() != ch.Record.Entries[name].Value {
				return nil, errUnforeseen
			}
		case Removed:
			if there != nil {
				return nil, errUnforeseen
			}
		}
	}
	if ch.rest(ch.before) != ch.rest(after) {
		return nil, errUnforeseen
	}
	ch.Record.tidy()
	ch.Text = append(bytes.Clone(ch.mark), ch.Text...)
	return &ch.Change, nil
}

// rest is all that a change must not change. What holds nothing may come and go.
func (ch *change) rest(root *node) string {
	changed := func(name string) bool {
		o := ch.Outcomes[name]
		return o == Added || o == Updated || o == Removed
	}
	return root.without(ch.way, changed).canonical()
}

// without is an object without some members of what a way leads to, and without
// what is on the way and holds nothing.
func (n *node) without(way []string, leave func(string) bool) *node {
	if n == nil || n.kind != object {
		return n
	}
	copied := *n
	copied.members = nil
	for _, m := range n.members {
		switch {
		case len(way) == 0 && leave(m.name):
			continue
		case len(way) > 0 && m.name == way[0]:
			m.value = m.value.without(way[1:], leave)
			if m.value.kind == null || m.value.kind == object && len(m.value.members) == 0 {
				continue
			}
		}
		copied.members = append(copied.members, m)
	}
	return &copied
}
