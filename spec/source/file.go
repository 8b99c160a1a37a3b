package source

import (
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// file is what is known of one entry of the directory.
type file struct {
	name string
	// path is how it is shown: the directory as given, and the name.
	path string
	// st, real and link are those of the last look.
	st   stamp
	real string
	link bool
	// pass is the number of the last pass that saw it.
	pass uint64
	// suspect asks for a look at the next pass whatever the stamp says: what
	// was refused may be mended in ways that leave no trace in the file itself,
	// and what was read just after a change may have changed again.
	suspect bool
	// claims are the objects that it holds, or last held.
	claims map[spec.Key]*spec.Entry
	// doubt and notices are what it adds to a set; nil for nothing.
	doubt   *spec.Doubt
	notices []spec.Finding
	busy    *busyState
	deps    []dep
}

// busyState is how a file that somebody writes is waited for.
type busyState struct {
	since time.Time
	delay time.Duration
	at    time.Time
	// shown says that the wait stands in the sets as a doubt.
	shown bool
}

// interpreted is a reading as it stands beside what the file held before.
type interpreted struct {
	claims  map[spec.Key]*spec.Entry
	doubt   *spec.Doubt
	notices []spec.Finding
}

// interpret decides what a file holds after a reading. Pure: former is what it
// held before, and is not modified.
//
// A file in which every document is understood holds exactly those. As long as
// one is not, the file might mean anything that it held before: those keys
// stay as they were, beside the documents that were understood.
func interpret(path, dir string, rd *reading, former map[spec.Key]*spec.Entry) interpreted {
	in := interpreted{claims: make(map[spec.Key]*spec.Entry, len(rd.docs))}
	var broken []*document
	for i := range rd.docs {
		d := &rd.docs[i]
		switch {
		case d.Skipped:
			in.notices = append(in.notices, d.Findings...)
		case d.Broken():
			broken = append(broken, d)
		default:
			in.claims[d.Key] = entryOf(d, dir, former[d.Key])
		}
	}
	if len(broken) == 0 {
		return in
	}
	keyless := in.blame(broken, dir, former)
	in.notices = append(in.notices, keyless...)
	if len(keyless) == 0 {
		keyless = []spec.Finding{{
			File: path, Reason: spec.ReasonInvalid,
			Message: "not in the newest content of the file, which has mistakes: kept as it was",
		}}
	}
	for k, e := range former {
		if in.claims[k] == nil {
			in.claims[k] = withProblems(e, keyless)
		}
	}
	in.doubt = doubtOf(path, rd.data, broken[0].Findings[0], in.claims)
	return in
}

// blame gives the findings of broken documents to the objects that they are
// of, and returns those of documents without a readable key.
func (in *interpreted) blame(broken []*document, dir string, former map[spec.Key]*spec.Entry) []spec.Finding {
	var keyless []spec.Finding
	for _, d := range broken {
		if d.Key == (spec.Key{}) {
			keyless = append(keyless, d.Findings...)
			continue
		}
		e := in.claims[d.Key]
		if e == nil {
			e = former[d.Key]
		}
		if e == nil {
			e = &spec.Entry{Key: d.Key, Dir: dir, File: d.File, Line: d.Line}
		}
		problems := d.Findings
		if twin := in.claims[d.Key]; twin != nil {
			problems = append(twin.Problems[:len(twin.Problems):len(twin.Problems)], problems...)
		}
		in.claims[d.Key] = withProblems(e, problems)
	}
	return keyless
}

// entryOf makes the entry of a document that was understood. Where a file that
// it names could not be had, the entry before stays, with the reason.
func entryOf(d *document, dir string, former *spec.Entry) *spec.Entry {
	if len(d.unmet) == 0 {
		return &spec.Entry{
			Key: d.Key, Object: d.Object, Hash: d.hash, Dir: dir,
			File: d.File, Line: d.Line, Files: d.files,
		}
	}
	if former == nil {
		former = &spec.Entry{Key: d.Key, Dir: dir, File: d.File, Line: d.Line}
	}
	return withProblems(former, d.unmet)
}

// withProblems is a copy of an entry whose newest content was not accepted.
func withProblems(e *spec.Entry, problems []spec.Finding) *spec.Entry {
	c := *e
	c.Problems = problems
	c.HeldUntil = time.Time{}
	return &c
}

// kept is what a file holds that was refused: what it held before, with the
// reason.
func kept(former map[spec.Key]*spec.Entry, why spec.Finding) map[spec.Key]*spec.Entry {
	claims := make(map[spec.Key]*spec.Entry, len(former))
	for k, e := range former {
		claims[k] = withProblems(e, []spec.Finding{why})
	}
	return claims
}
