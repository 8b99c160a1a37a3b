package source

import (
	"errors"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// maxEnvFile is the size in bytes of an env file or file value.
const maxEnvFile = 1 << 20

// gather reads the files that an object names, into the document. Who owns
// them is not judged: they hold data, and often belong to somebody else (a
// mounted secret).
func (r *reader) gather(rd *reading, doc *document, now time.Time) {
	for _, fsrc := range doc.Object.FileSources() {
		data, err := r.envFile(rd, fsrc.Path, now)
		switch {
		case err == nil:
			if doc.files == nil {
				doc.files = make(map[string][]byte)
			}
			doc.files[fsrc.Path] = data
		case missing(err) && fsrc.Optional, errors.Is(err, errBusy):
		default:
			doc.unmet = append(doc.unmet, spec.Finding{
				File: doc.File, Line: doc.Line, Reason: spec.ReasonEnvFileMissing,
				Message: unmet(fsrc.Path, err),
			})
		}
	}
	doc.hash = spec.HashOf(doc.Object, doc.files)
}

// envFile reads one file and notes what the reading depends on by that.
func (r *reader) envFile(rd *reading, path string, now time.Time) ([]byte, error) {
	abs, err := spec.ResolvePath(path, r.base(rd.name), r.home)
	if err != nil {
		return nil, err
	}
	w, err := walk(abs, nil)
	for _, p := range w.via {
		rd.deps = append(rd.deps, dep{path: p})
	}
	// The stamp is taken as the poll takes it, and before the reading: what
	// comes between is seen by the next poll.
	st, _ := stat(abs)
	rd.deps = append(rd.deps, dep{path: abs, st: st, polled: true})
	if err != nil {
		return nil, err
	}
	c, err := readSettled(w.real, maxEnvFile, r.rests[w.real], now, nil)
	if errors.Is(err, errBusy) {
		rd.busy = append(rd.busy, busyFile{w.real, c.st})
	}
	return c.data, err
}

// unmet says what is wrong with a file that an object names.
func unmet(path string, err error) string {
	switch {
	case missing(err):
		return path + " does not exist: write it, or say optional: true"
	case errors.Is(err, errTooLarge):
		return path + " has more than 1 MiB"
	}
	return "cannot read " + path + ": " + err.Error()
}
