package source

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

// maxSkipped bounds how many skipped entries are listed one by one.
const maxSkipped = 20

// report collects the doubts and notices of a set. They are put together
// anew only when one of them has changed, and cost what is wrong, not what is
// there.
type report struct {
	changed bool
	faulty  map[*file]struct{}
	twinned map[spec.Key][]spec.Finding
	ports   ports
	clashes map[int32][]spec.Finding
	// dir is what is wrong with the directory as a whole, nil for nothing.
	dir     *spec.Doubt
	polling string
	skipped []spec.Finding

	doubts  []spec.Doubt
	notices []spec.Finding
}

func newReport() report {
	return report{
		changed: true,
		faulty:  make(map[*file]struct{}),
		twinned: make(map[spec.Key][]spec.Finding),
		ports:   make(ports),
		clashes: make(map[int32][]spec.Finding),
	}
}

// about takes note of the doubt and notices of a file, or that it has none.
func (r *report) about(f *file) {
	_, was := r.faulty[f]
	is := f.doubt != nil || len(f.notices) > 0 || f.busy != nil && f.busy.shown
	switch {
	case is:
		r.faulty[f] = struct{}{}
	case was:
		delete(r.faulty, f)
	}
	r.changed = r.changed || is || was
}

// twins takes note of the files that hold one key.
func (r *report) twins(k spec.Key, found []spec.Finding) {
	if slices.Equal(r.twinned[k], found) {
		return
	}
	r.changed = true
	if found == nil {
		delete(r.twinned, k)
		return
	}
	r.twinned[k] = found
}

// entry takes note that one entry of a key follows another.
func (r *report) entry(old, e *spec.Entry) {
	touched := append(fixedPorts(old), fixedPorts(e)...)
	if len(touched) == 0 {
		return
	}
	r.ports.replace(old, e)
	for _, n := range touched {
		found := r.ports.shared(n)
		if slices.Equal(r.clashes[n], found) {
			continue
		}
		r.changed = true
		r.clashes[n] = found
		if found == nil {
			delete(r.clashes, n)
		}
	}
}

// directory takes note of what is wrong with the directory itself.
func (r *report) directory(path string, why *refusal) {
	var d *spec.Doubt
	if why != nil {
		d = &spec.Doubt{File: path, Reason: why.reason, Message: why.message, All: true}
	}
	if (d == nil) != (r.dir == nil) || d != nil && d.Message != r.dir.Message {
		r.dir, r.changed = d, true
	}
}

// pollingOnly takes note of why there are no file events; empty if there are.
func (r *report) pollingOnly(why string) {
	r.changed = r.changed || r.polling != why
	r.polling = why
}

// skippedEntries takes note of the entries that a user could have meant as
// manifests.
func (r *report) skippedEntries(dir string, found []spec.Finding) {
	slices.SortFunc(found, func(a, b spec.Finding) int { return strings.Compare(a.File, b.File) })
	if more := len(found) - maxSkipped; more > 0 {
		found = append(found[:maxSkipped:maxSkipped], spec.Finding{
			File: dir, Reason: spec.ReasonSkipped,
			Message: fmt.Sprintf("%d more entries are not read", more),
		})
	}
	if !slices.Equal(r.skipped, found) {
		r.skipped, r.changed = found, true
	}
}

// lists gives out all doubts and notices.
func (r *report) lists() ([]spec.Doubt, []spec.Finding) {
	if !r.changed {
		return r.doubts, r.notices
	}
	r.changed = false
	r.doubts, r.notices = nil, nil
	if r.dir != nil {
		r.doubts = append(r.doubts, *r.dir)
		r.notices = append(r.notices, spec.Finding{File: r.dir.File, Reason: r.dir.Reason, Message: r.dir.Message})
	}
	if r.polling != "" {
		r.notices = append(r.notices, spec.Finding{Reason: spec.ReasonPolling, Message: r.polling})
	}
	for _, f := range slices.SortedFunc(maps.Keys(r.faulty), func(a, b *file) int { return cmp.Compare(a.name, b.name) }) {
		r.file(f)
	}
	for _, k := range slices.SortedFunc(maps.Keys(r.twinned), spec.Key.Compare) {
		r.notices = append(r.notices, r.twinned[k]...)
	}
	for _, n := range slices.Sorted(maps.Keys(r.clashes)) {
		r.notices = append(r.notices, r.clashes[n]...)
	}
	r.notices = append(r.notices, r.skipped...)
	return r.doubts, r.notices
}

func (r *report) file(f *file) {
	if f.doubt != nil {
		r.doubts = append(r.doubts, *f.doubt)
	}
	r.notices = append(r.notices, f.notices...)
	if f.busy != nil && f.busy.shown {
		d := spec.Doubt{File: f.path, Reason: spec.ReasonBusyFile, Message: errBusy.Error(), All: true}
		r.doubts = append(r.doubts, d)
		r.notices = append(r.notices, spec.Finding{File: f.path, Reason: d.Reason, Message: d.Message})
	}
}
