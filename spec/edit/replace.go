package edit

import (
	"bytes"
	"slices"

	"github.com/proc-controller/proc-controller/spec"
)

// Replace puts a document in the place of the one with the same key, which may be
// broken. The given text replaces the whole former one, with its comments; what
// divides the documents stays, and the line ends become those of the file. It says
// whether the texts differ.
func (f *File) Replace(d *Document) (changed bool, err error) {
	old, i, err := f.find(d.Key)
	if err != nil {
		return false, failed("replace", d.Key, f.Name, err)
	}
	text, err := d.Text(f.Name)
	if err != nil {
		return false, failed("replace", d.Key, f.Name, err)
	}
	like := f.like()
	text = withLineEnds(text, like)
	if former, _ := old.content(); bytes.Equal(text, withLineEnds(former, like)) {
		return false, nil
	}
	now := *old
	now.Object, now.Findings = d.Object, nil
	switch announced := bytes.HasPrefix(old.text, []byte("---")); {
	case len(old.lead) > 0 && !bytes.HasPrefix(text, []byte("---")):
		now.before = old.before[:len(old.before)-len(old.lead)] // the comments before it are its own
		now.lead = nil
	case announced:
		text = append([]byte("---"+lineEnd(like)), text...)
	}
	if now.text = text; !f.last(i) {
		now.text = slices.Concat(text, blankTail(old.text))
	}
	if !f.standsAt(i, &now) {
		return false, failed("replace", d.Key, f.Name, errUnforeseen)
	}
	*old, f.edited = now, true
	return true, nil
}

// blankTail is what endLine and trimBlank leave of a text: the blank lines after
// its last line.
func blankTail(text []byte) []byte {
	tail := text[len(trimBlank(text)):]
	if i := bytes.IndexByte(tail, '\n'); i >= 0 {
		return tail[i+1:]
	}
	return nil
}

// Append puts a document behind those of the file, which may be empty. It does not
// look for its key among them.
func (f *File) Append(d *Document) error {
	text, err := d.Text(f.Name)
	if err != nil {
		return failed("add", d.Key, f.Name, err)
	}
	now := &Document{Document: spec.Document{File: f.Name, Key: d.Key, Object: d.Object}, text: text}
	if f.blank() {
		if !f.stands(nil, now, true) {
			return failed("add", d.Key, f.Name, errUnforeseen)
		}
		f.Docs, f.tail, f.edited = nil, nil, true
		f.enter(now)
		return nil
	}
	if err := f.follow(now); err != nil {
		return failed("add", d.Key, f.Name, err)
	}
	return nil
}

// blank says that the file holds nothing at all.
func (f *File) blank() bool {
	return len(f.Docs) == 0 || f.Docs[0].entire && len(bytes.TrimSpace(f.Docs[0].text)) == 0
}

// follow puts a document behind another one.
func (f *File) follow(now *Document) error {
	last := f.Docs[len(f.Docs)-1]
	switch {
	case isJSON(f.Name):
		return ErrOneObject
	case last.entire:
		return errUnforeseen
	}
	like, former := f.like(), last.text
	if len(f.tail) > 0 {
		now.before = endLine(f.tail, like)
	} else if !ended(former) {
		if last.text = append(bytes.Clone(former), lineEnd(like)...); !f.standsAt(len(f.Docs)-1, last) {
			last.text = former
			return errLineEnd
		}
	}
	now.text = append([]byte("---"+lineEnd(like)), withLineEnds(now.text, like)...)
	if now.order = last.order + 1; !f.stands(last, now, true) {
		last.text = former
		return errUnforeseen
	}
	f.tail, f.edited = nil, true
	f.enter(now)
	return nil
}

// Remove takes the document with a key out.
func (f *File) Remove(key spec.Key) error {
	d, i, err := f.find(key)
	if err == nil {
		err = f.cutOut(d, i)
	}
	if err != nil {
		return failed("remove", key, f.Name, err)
	}
	delete(f.byKey, key)
	f.edited = true
	return nil
}

func (f *File) cutOut(d *Document, i int) error {
	if len(f.Docs) == 1 {
		f.Docs, f.tail = nil, nil
		return nil
	}
	var next *Document
	gap := f.tail
	if i < len(f.Docs)-1 {
		next = f.Docs[i+1]
		gap = next.before
	}
	// The "..." behind it goes too, unless it is what divides its neighbours.
	if i == 0 || next == nil || bytes.HasPrefix(next.text, []byte("---")) {
		gap = gap[len(terminator(gap)):]
	}
	gap = slices.Concat(d.before, gap)
	if i > 0 && len(gap) > 0 && !divides(gap) { // comments, of the one before it now
		return f.cutOutBetween(i, next, gap)
	}
	return f.close(i, next, gap)
}

// cutOutBetween takes a document out, and gives what stood behind it to the one
// before it.
func (f *File) cutOutBetween(i int, next *Document, gap []byte) error {
	previous := f.Docs[i-1]
	former := previous.text
	previous.text = slices.Concat(former, gap)
	if previous.Object == nil || !f.standsAt(i-1, previous) {
		previous.text = former
		return errUnforeseen
	}
	err := f.close(i, next, nil)
	if err != nil {
		previous.text = former
	}
	return err
}

// close takes a document out; the gap is what then stands between its neighbours.
func (f *File) close(i int, next *Document, gap []byte) error {
	if next == nil {
		f.Docs, f.tail = slices.Delete(f.Docs, i, i+1), gap
		return nil
	}
	now := *next
	now.before = gap
	if i == 0 {
		now.lead = leadOf(gap)
	}
	if !f.stands(f.previous(i), &now, f.last(i+1)) {
		return errUnforeseen
	}
	f.Docs = slices.Delete(f.Docs, i, i+1)
	*next = now
	return nil
}

// terminator is the line "..." at the beginning of a text, if there is one.
func terminator(text []byte) []byte {
	if line, _, _ := bytes.Cut(text, []byte("\n")); bytes.HasPrefix(line, []byte("...")) {
		return text[:min(len(line)+1, len(text))]
	}
	return nil
}
