package clients

import "bytes"

// Ours are the names of the entries in the text of a file that are as they were
// written. A text that cannot be read has none.
func (r *Record) Ours(data []byte) map[string]bool {
	c := Named(r.Client)
	if c == nil {
		return nil
	}
	root, err := c.syntax.parse(bytes.TrimPrefix(data, byteOrderMark))
	if err != nil {
		return nil
	}
	ours := map[string]bool{}
	entries := root.get(c.wayIn(root)...)
	for name, o := range r.Entries {
		if there := entries.get(name); there != nil && o.is(there) {
			ours[name] = true
		}
	}
	return ours
}
