package probe

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// event is one event of an event stream.
type event struct {
	name string // "message" where the stream names none
	data []byte
}

// eventReader reads an event stream (WHATWG HTML, "Server-sent events"). It reads
// at most limit bytes in all, so that a stream which never ends does.
type eventReader struct {
	in   *bufio.Reader
	rest *io.LimitedReader
	// queued is what was read up to the next LF, if more says so: CR ends lines too.
	queued []byte
	more   bool
}

// errStreamTooLong ends a stream that does not end.
var errStreamTooLong = errors.New("the event stream does not end")

func newEventReader(r io.Reader, limit int64) *eventReader {
	rest := &io.LimitedReader{R: r, N: limit}
	return &eventReader{in: bufio.NewReader(rest), rest: rest}
}

// Next gives the next event that has data. Its error is io.EOF at the end of the
// stream; an event that is cut off by that is none.
func (e *eventReader) Next() (event, error) {
	var ev event
	var data bytes.Buffer
	has := false
	for {
		line, err := e.line()
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if has && data.Len() > 0 {
				if ev.name == "" {
					ev.name = "message"
				}
				ev.data = data.Bytes()
				return ev, nil
			}
			ev, has = event{}, false // an event without data is nothing
			data.Reset()
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "event":
			ev.name = string(value)
		case "data":
			if has {
				data.WriteByte('\n')
			}
			has = true
			data.Write(value)
		}
	}
}

// line gives the next line without its end: LF, CR LF, or CR.
func (e *eventReader) line() ([]byte, error) {
	if !e.more {
		read, err := e.in.ReadBytes('\n')
		switch {
		case err == io.EOF && e.rest.N <= 0:
			return nil, errStreamTooLong
		case err != nil:
			return nil, err
		}
		e.queued = bytes.TrimSuffix(read[:len(read)-1], []byte{'\r'})
	}
	var line []byte
	line, e.queued, e.more = bytes.Cut(e.queued, []byte{'\r'})
	return line, nil
}
