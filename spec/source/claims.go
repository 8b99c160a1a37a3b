package source

import (
	"fmt"
	"slices"

	"github.com/proc-controller/proc-controller/spec"
)

// claims knows which files hold which key. Several may; the one that was there
// first wins, for as long as it holds the key.
type claims map[spec.Key][]claim

type claim struct {
	file  *file
	entry *spec.Entry
}

// put enters or replaces the claim of a file to a key.
func (c claims) put(f *file, e *spec.Entry) {
	list := c[e.Key]
	i := slices.IndexFunc(list, func(cl claim) bool { return cl.file == f })
	if i < 0 {
		c[e.Key] = append(list, claim{f, e})
		return
	}
	list[i].entry = e
}

// drop removes the claim of a file to a key.
func (c claims) drop(f *file, k spec.Key) {
	list := slices.DeleteFunc(c[k], func(cl claim) bool { return cl.file == f })
	if len(list) == 0 {
		delete(c, k)
		return
	}
	c[k] = list
}

// winner is the entry that stands for a key, nil if none does. One that was
// never good gives way to one that is.
func (c claims) winner(k spec.Key) *spec.Entry {
	list := c[k]
	if len(list) == 0 {
		return nil
	}
	if i := slices.IndexFunc(list, func(cl claim) bool { return cl.entry.Object != nil }); i > 0 {
		first := list[i]
		copy(list[1:i+1], list[:i])
		list[0] = first
	}
	return list[0].entry
}

// twins are the findings for a key that several files hold: one at each.
func (c claims) twins(k spec.Key) []spec.Finding {
	list := c[k]
	if len(list) < 2 {
		return nil
	}
	win := list[0].entry
	var found []spec.Finding
	for _, cl := range list[1:] {
		found = append(found, spec.Finding{
			File: cl.entry.File, Line: cl.entry.Line, Reason: spec.ReasonDuplicate,
			Message: k.String() + " is ignored here: " + place(win) + " holds it already",
		}, spec.Finding{
			File: win.File, Line: win.Line, Reason: spec.ReasonDuplicate,
			Message: k.String() + " is taken from here: " + place(cl.entry) + " holds it too",
		})
	}
	return found
}

// sameEntry tells whether two entries mean the same, so that nobody needs to
// hear of the newer one. The content of Files is in the hash.
func sameEntry(a, b *spec.Entry) bool {
	return a == b || a.Hash == b.Hash && a.File == b.File && a.Line == b.Line &&
		a.HeldUntil.Equal(b.HeldUntil) && slices.Equal(a.Problems, b.Problems) &&
		a.Object.Equal(b.Object)
}

// place is where an entry was read from, as in x.yaml:3.
func place(e *spec.Entry) string { return fmt.Sprintf("%s:%d", e.File, e.Line) }
