package logs

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Recorder writes down how large an output file was at which time. It belongs to
// one goroutine. A file has one Recorder at a time; it goes on where a former one
// ended. Nothing is made before there is something to write down.
type Recorder struct {
	path string // of the times
	header
	size  int64 // of the output file when it was last noted
	marks int
	open  bool // what is there already has been read
}

// NewRecorder makes the recorder of the output file at path.
func NewRecorder(path string) *Recorder { return &Recorder{path: TimesPath(path)} }

// Note writes down that the output file has size bytes, the last of which was
// written at about the given time. freed is where what is kept of it begins.
func (r *Recorder) Note(size, freed int64, at time.Time) error {
	if size == r.size {
		return nil // of a silent one nothing is made
	}
	if err := r.begin(); err != nil {
		return err
	}
	if size < r.size { // somebody has cut it: what comes is new
		r.base += r.size
		r.size = 0
		if err := r.writeHeader(); err != nil {
			return err
		}
	}
	if size == r.size { // a former recorder has noted it
		return nil
	}
	if r.marks >= MaxMarks {
		if err := r.compact(r.base + freed); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		r.open = false // it was removed: begin anew
		return err
	}
	defer f.Close()
	if _, err := f.Write(mark{r.base + size, at}.append(nil)); err != nil {
		return err
	}
	r.size, r.marks = size, r.marks+1
	return nil
}

// Cut does what takes the first bytes off the file, so that those who read it
// find their place again.
func (r *Recorder) Cut(bytes int64, cut func() error) error {
	if err := r.begin(); err != nil {
		return cut() // without times there is nobody to lead
	}
	r.cuts++
	if err := r.writeHeader(); err != nil {
		r.cuts--
		return cut()
	}
	err := cut()
	if err == nil {
		r.base += bytes
		r.size = max(0, r.size-bytes)
	}
	r.cuts++
	return errors.Join(err, r.writeHeader())
}

// begin reads what a former recorder has left, or makes the file.
func (r *Recorder) begin() error {
	if r.open {
		return nil
	}
	b, err := os.ReadFile(r.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	h, err := parseHeader(b)
	if err != nil {
		err := os.WriteFile(r.path, header{}.append(nil), 0o600)
		r.header, r.size, r.marks, r.open = header{}, 0, 0, err == nil
		return err
	}
	h.cuts += h.cuts % 2 // nobody is at it any more
	r.header = h
	marks := parseMarks(b[headerSize:])
	r.marks = len(marks)
	r.size = 0
	if len(marks) > 0 {
		r.size = max(0, marks[len(marks)-1].end-h.base)
	}
	r.open = true
	// A part of a mark would shift all that follow.
	if whole := int64(headerSize + (len(b)-headerSize)/markSize*markSize); whole != int64(len(b)) {
		return os.Truncate(r.path, whole)
	}
	return nil
}

func (r *Recorder) writeHeader() error {
	f, err := os.OpenFile(r.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(r.header.append(nil), 0)
	return err
}

// compact drops the marks of what has been freed, and if that is not enough
// every second one of the older half.
func (r *Recorder) compact(freed int64) error {
	b, err := os.ReadFile(r.path)
	if err != nil {
		r.open = false
		return err
	}
	marks := thinned(parseMarks(b[min(len(b), headerSize):]), freed)
	b = r.header.append(b[:0:0])
	for _, m := range marks {
		b = m.append(b)
	}
	// Readers find the former file or the new one, and never a part.
	tmp := r.path + ".new"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	r.marks = len(marks)
	return os.Rename(tmp, r.path)
}

// thinned makes room among marks.
func thinned(marks []mark, freed int64) []mark {
	marks = slices.DeleteFunc(marks, func(m mark) bool { return m.end <= freed })
	if len(marks) <= MaxMarks*3/4 {
		return marks
	}
	older := len(marks) / 2
	kept := marks[:0:0]
	for i, m := range marks {
		if i >= older || i%2 == 1 {
			kept = append(kept, m)
		}
	}
	return kept
}
