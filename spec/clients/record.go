package clients

import "strings"

// Record is what is known of the entries that were written into one file: which are
// ours, and what was put in for their sake. It is kept apart from the file.
type Record struct {
	Client string `json:"client"`
	File   string `json:"file"`
	// Created says that the file was not there before.
	Created bool `json:"created,omitempty"`
	// Folder says that its directory was not there before.
	Folder bool `json:"folder,omitempty"`
	// Start is what a blank file was given to begin with.
	Start string `json:"start,omitempty"`
	// Containers are the objects that entries were put into, by the way there.
	Containers map[string]*Container `json:"containers,omitempty"`
	Entries    map[string]*Owned     `json:"entries,omitempty"`
}

// Container is what was done to an object so that entries could be put into it.
type Container struct {
	// Made says that it was not there before.
	Made bool `json:"made,omitempty"`
	// Tail was put before its closing brace, Lead before it as a whole.
	Tail string `json:"tail,omitempty"`
	Lead string `json:"lead,omitempty"`
}

// Owned is an entry of ours.
type Owned struct {
	// Value is what was written, in canonical form.
	Value string `json:"value"`
	// Former is what was there before, as long as it is not sure that Value is.
	Former string `json:"former,omitempty"`
	// Lead was put before it.
	Lead string `json:"lead,omitempty"`
}

// is says that a value is what was written, as far as that can be known.
func (o *Owned) is(there *node) bool {
	return there.wasWritten(o.Value) || o.Former != "" && there.wasWritten(o.Former)
}

// wasWritten says that a value is one in canonical form, but for members that say
// nothing: clients that write their file anew add them.
func (n *node) wasWritten(canonical string) bool {
	if n.canonical() == canonical {
		return true
	}
	was, err := parseJSON([]byte(canonical))
	return err == nil && n.holds(was) && n.addsNothing(was)
}

func (n *node) addsNothing(to *node) bool {
	for _, m := range n.members {
		if was := to.get(m.name); was != nil && !m.value.addsNothing(was) || was == nil && !m.value.hollow() {
			return false
		}
	}
	return true
}

// hollow says that a value is that of a setting that is not set.
func (n *node) hollow() bool {
	switch n.kind {
	case null:
		return true
	case truth:
		return n.raw == "false"
	case text:
		return n.raw == ""
	}
	return n.kind != number && len(n.members)+len(n.items) == 0
}

func key(way []string) string { return strings.Join(way, "/") }

// container is that at the end of a way.
func (r *Record) container(way []string) *Container {
	if r.Containers == nil {
		r.Containers = map[string]*Container{}
	}
	c := r.Containers[key(way)]
	if c == nil {
		c = &Container{}
		r.Containers[key(way)] = c
	}
	return c
}

// clone is a record of its own.
func (r *Record) clone() *Record {
	c := *r
	c.Containers, c.Entries = map[string]*Container{}, map[string]*Owned{}
	for k, v := range r.Containers {
		v := *v
		c.Containers[k] = &v
	}
	for k, v := range r.Entries {
		v := *v
		c.Entries[k] = &v
	}
	return &c
}

// tidy drops what says nothing.
func (r *Record) tidy() {
	for k, c := range r.Containers {
		if *c == (Container{}) {
			delete(r.Containers, k)
		}
	}
}

// Both is the record while a file is being written: an entry may still be what it
// was.
func (r *Record) Both(former *Record) *Record {
	c := r.clone()
	for name, o := range former.Entries {
		switch n := c.Entries[name]; {
		case n == nil:
			kept := *o
			c.Entries[name] = &kept
		case n.Value != o.Value:
			n.Former = o.Value
		}
	}
	return c
}
