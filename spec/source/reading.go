package source

import (
	"errors"
	"io/fs"
	"slices"
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

// racy tells whether what was read could have changed without a trace.
func (rd *reading) racy(read time.Time) bool {
	return racy(rd.st, read) || slices.ContainsFunc(rd.deps, func(d dep) bool { return racy(d.st, read) })
}

// unmet tells whether an object names a file that could not be had.
func (rd *reading) unmet() bool {
	return slices.ContainsFunc(rd.docs, func(d document) bool { return len(d.unmet) > 0 })
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
