package spec

import (
	"slices"
	"time"
)

// Set is everything that a source has to say at one moment: the workloads that
// are wanted, and what stands against believing that others are not.
//
// A Set and the entries in it are never modified after they were handed out.
type Set struct {
	// Complete says that a first full read has succeeded. Until then nothing
	// may be decided from the set.
	Complete bool
	// Entries are sorted by key, one for each key.
	Entries []*Entry
	// Doubts are files or directories that might hold further keys.
	Doubts []Doubt
	// HoldUnknownUntil is the time before which a key that the set does not
	// list is not taken to be absent: the hold after the first read.
	HoldUnknownUntil time.Time
	// Notices are what the user should know about the source as a whole:
	// skipped files, a polling fallback, an untrusted directory.
	Notices []Finding
}

// Entry is one workload of a Set.
type Entry struct {
	Key Key
	// Object is the last good manifest, defaults filled in. Nil where there
	// never was a good one.
	Object *Object
	// Hash is the restart hash of Object together with the content of Files.
	Hash Hash
	// Dir is the absolute directory of the manifest: what relative paths count
	// from.
	Dir string
	// File is the path that the manifest was read from, Line where its
	// document starts (1 is the first).
	File string
	Line int
	// Files holds the content of every env file and file value that Object
	// names, by the path as it is written there. A missing optional file has
	// no entry.
	Files map[string][]byte
	// Problems says why the newest content was not accepted; empty when it
	// was. Object is then the one before.
	Problems []Finding
	// Order says what is wrong with what Object depends on: see Orders. Nothing
	// speaks against Object itself, and what runs goes on running; it is not
	// started.
	Order []Finding
	// Cycle is the circle of dependencies that the key is in, as in the Order of
	// that function; nil for none. Order then has a finding about it.
	Cycle []Key
	// HeldUntil is set when the key is gone from the source: until then its
	// absence is not believed. After that time the key is not wanted.
	HeldUntil time.Time
}

// Gone says that the key is no longer in the source, held or not.
func (e *Entry) Gone() bool { return !e.HeldUntil.IsZero() }

// Doubt is a place that could not be read, or not be understood.
type Doubt struct {
	File   string
	Reason Reason
	// Message is one line for a person.
	Message string
	// Names are the keys that the file last held and every word in it that
	// could be a name, sorted. All means that it protects every key: the
	// place could not be read at all.
	Names []string
	All   bool
}

// Finding is something wrong at a place in a manifest.
type Finding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // from 1; 0 where there is no place
	Column  int    `json:"column"` // from 1, in characters; 0 likewise
	Reason  Reason `json:"-"`
	Message string `json:"message"`
}

// Lookup finds the entry of a key, or nil.
func (s *Set) Lookup(k Key) *Entry {
	i, ok := slices.BinarySearchFunc(s.Entries, k, func(e *Entry, k Key) int { return e.Key.Compare(k) })
	if !ok {
		return nil
	}
	return s.Entries[i]
}

// Absence tells whether a key may be taken to be unwanted at the given time,
// and if not, why, and when that could change without further news (zero where
// only news can change it).
func (s *Set) Absence(k Key, now time.Time) (proven bool, why string, until time.Time) {
	if !s.Complete {
		return false, "the manifests have not been read yet", time.Time{}
	}
	for i := range s.Doubts {
		d := &s.Doubts[i]
		if d.All {
			return false, d.File + ": " + d.Message, time.Time{}
		}
		if _, ok := slices.BinarySearch(d.Names, k.Name); ok {
			return false, d.File + " may still name it: " + d.Message, time.Time{}
		}
	}
	until = s.HoldUnknownUntil
	if e := s.Lookup(k); e != nil {
		if !e.Gone() {
			return false, e.File + " holds it", time.Time{}
		}
		until = e.HeldUntil
	}
	if now.Before(until) {
		return false, "its manifest is gone; waiting in case it comes back", until
	}
	return true, "", time.Time{}
}
