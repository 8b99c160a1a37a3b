package source

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// reader looks at entries. It keeps nothing, so that many goroutines may look
// at once; rests must not change while they do.
type reader struct {
	places
	real  string // the directory without symbolic links
	home  string
	trust *trust
	rests map[string]rest
	// noneKept is Options.NoneKept.
	noneKept bool
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
	path := r.path(rd.name)
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
	for _, d := range spec.Decode(r.path(rd.name), data) {
		doc := document{Document: d}
		if d.Object != nil {
			if r.noneKept {
				d.Object.Spec.OnControllerExit = spec.ExitStop
			}
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
