package source

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// outcome is what came of a look at an entry.
type outcome int

const (
	outcomeRead    outcome = iota // read; documents are there, good or broken
	outcomeGone                   // no such entry
	outcomeBusy                   // somebody writes it, or a file that it names
	outcomeRefused                // not to be read: see refusal
)

// reading is what one look at one entry found. It refers to nothing that is
// shared.
type reading struct {
	name    string
	outcome outcome
	// link says that the entry is a symbolic link.
	link bool
	// st is the stamp of what the entry leads to.
	st stamp
	// real is the path of that, without links.
	real string
	data []byte
	docs []document
	// refusal says why the entry was refused. Where alien is set it is
	// something that never was a manifest, such as a directory or a FIFO.
	refusal *refusal
	alien   bool
	// deps are the other places that this reading depends on.
	deps []dep
	// busy are the files that the look found busy.
	busy []busyFile
	// recalled is what the memory has of the entry; known says that the memory
	// has just what was read.
	recalled []document
	known    bool
}

// document is a document together with the files that it names.
type document struct {
	spec.Document
	files map[string][]byte
	hash  spec.Hash
	// unmet says which files that it names could not be had.
	unmet []spec.Finding
}

// dep is a path whose change calls for another look. One without links is
// watched; one that a manifest names is polled, which is to say that its stamp
// is compared.
type dep struct {
	path   string
	st     stamp // of a polled one; zero: missing
	polled bool
}

type busyFile struct {
	path string
	st   stamp
}

// reader looks at entries. It keeps nothing, so that many goroutines may look
// at once; rests must not change while they do.
type reader struct {
	dir   string // as it was given
	real  string // without symbolic links
	home  string
	trust *trust
	rests map[string]rest
	// memory is the last good content by path, until the first full read.
	memory map[string][]byte
}

// look reads an entry with the files that its documents name.
func (r *reader) look(name string, now time.Time) reading {
	rd := reading{name: name}
	path := filepath.Join(r.real, name)
	st, err := lstat(path)
	if err == nil && st.mode&fs.ModeSymlink != 0 {
		rd.link = true
		path, err = r.follow(&rd)
	} else {
		rd.st, rd.real = st, path
	}
	if err == nil && !rd.st.mode.IsRegular() {
		err = errNotFile
	}
	if err != nil {
		rd.fail(err)
	} else {
		r.read(&rd, path, now)
	}
	if rd.outcome != outcomeGone {
		rd.recalled = r.recall(&rd, now)
	}
	return rd
}

// recall decodes what the memory has of an entry, unless the memory is just
// what was read.
func (r *reader) recall(rd *reading, now time.Time) []document {
	path := filepath.Join(r.dir, rd.name)
	data, ok := r.memory[path]
	rd.known = ok && bytes.Equal(data, rd.data)
	if !ok || rd.known {
		return nil
	}
	return r.decode(rd, data, now)
}

// decode takes content apart and fetches the files that its objects name.
func (r *reader) decode(rd *reading, data []byte, now time.Time) []document {
	var docs []document
	for _, d := range spec.Decode(filepath.Join(r.dir, rd.name), data) {
		doc := document{Document: d}
		if d.Object != nil {
			r.gather(rd, &doc, now)
		}
		docs = append(docs, doc)
	}
	return docs
}

// follow resolves an entry that is a link.
func (r *reader) follow(rd *reading) (string, error) {
	w, err := walkFrom(r.real, rd.name, r.trust)
	for _, p := range w.via {
		rd.deps = append(rd.deps, dep{path: p})
	}
	if err != nil {
		return "", err
	}
	rd.st, rd.real = w.end, w.real
	if w.distrust != nil {
		return "", w.distrust
	}
	return w.real, nil
}

// read reads the file of an entry and what its documents name.
func (r *reader) read(rd *reading, path string, now time.Time) {
	c, err := readSettled(path, spec.MaxFileSize, r.rests[path], now, func(st stamp) *refusal {
		return r.trust.place(path, st)
	})
	if c.st != (stamp{}) {
		rd.st = c.st
	}
	if err != nil {
		if errors.Is(err, errBusy) {
			rd.busy = append(rd.busy, busyFile{path, c.st})
		}
		rd.fail(err)
		return
	}
	rd.data = c.data
	rd.docs = r.decode(rd, c.data, now)
	if len(rd.busy) > 0 {
		rd.outcome = outcomeBusy
	}
}

// fail sorts an error into an outcome.
func (rd *reading) fail(err error) {
	switch {
	case missing(err) && !rd.link:
		rd.outcome = outcomeGone
	case missing(err):
		rd.refuse(refuse(spec.ReasonUnreadable, "a symbolic link that leads nowhere: %s is missing", rd.deps[len(rd.deps)-1].path))
	case errors.Is(err, errBusy):
		rd.outcome = outcomeBusy
	case errors.Is(err, errNotFile):
		rd.refuse(refuse(spec.ReasonSkipped, "%s is no regular file: not read", kindOf(rd.st.mode)))
		rd.alien = true
	case errors.Is(err, errTooLarge):
		rd.refuse(refuse(spec.ReasonInvalid, "the file has %d bytes: a manifest may have at most %d", rd.st.size, spec.MaxFileSize))
	default:
		rd.refuse(asRefusal(err))
	}
}

func (rd *reading) refuse(r *refusal) { rd.outcome, rd.refusal = outcomeRefused, r }

// kindOf names what is not a regular file.
func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
