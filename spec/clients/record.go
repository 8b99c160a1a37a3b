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
func (o *Owned) is(canonical string) bool {
	return canonical == o.Value || o.Former != "" && canonical == o.Former
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
