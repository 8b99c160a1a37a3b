package rpc

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// Event is one event of an event stream (WHATWG HTML, "Server-sent events").
type Event struct {
	ID    string        // "" for none
	Name  string        // "" is "message"
	Data  []byte        // nil for none, which is not the same as empty
	Retry time.Duration // whole milliseconds; 0 for none
}

// IsMessage says whether e brings messages, as MCP has them in an event stream: it
// has data, and no name that says that they are something else.
func (e Event) IsMessage() bool {
	return len(e.Data) > 0 && (e.Name == "" || e.Name == "message")
}

// Append writes e to b, with the blank line that ends it. ID and Name must be without
// line breaks.
func (e Event) Append(b []byte) []byte {
	if e.Name != "" {
		b = append(append(append(b, "event: "...), e.Name...), '\n')
	}
	if e.ID != "" {
		b = append(append(append(b, "id: "...), e.ID...), '\n')
	}
	if e.Retry > 0 {
		b = append(strconv.AppendInt(append(b, "retry: "...), e.Retry.Milliseconds(), 10), '\n')
	}
	if e.Data != nil {
		for line := range bytes.SplitSeq(e.Data, []byte("\n")) {
			b = append(append(append(b, "data: "...), line...), '\n')
		}
	}
	return append(b, '\n')
}

// EventReader reads an event stream. It is for one goroutine.
type EventReader struct {
	lines *LineReader
	max   int
	begun bool // the byte order mark, if any, is behind
}

// NewEventReader reads from r events whose data have at most limit bytes.
func NewEventReader(r io.Reader, limit int) *EventReader {
	return &EventReader{lines: newLineReader(&oneBreak{r: r}, limit, eventSize), max: limit}
}

// Read gives the next event that has an id, data or a retry time. Data are good until
// the next call. An event that the stream ends within is dropped, as the standard has
// it: then, and at the end, the error is io.EOF. One that is too large is a
// *TooLongError; the next call goes on behind it or, for data of many lines, within.
func (r *EventReader) Read() (Event, error) {
	var e Event
	for {
		line, err := r.lines.Read()
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return Event{}, io.EOF
		}
		if err != nil {
			return Event{}, err
		}
		if !r.begun {
			line, r.begun = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), true
		}
		if len(line) == 0 {
			if e.ID != "" || e.Data != nil || e.Retry > 0 {
				return e, nil
			}
			e = Event{}
			continue
		}
		e.field(line)
		if len(e.Data) > r.max {
			return Event{}, &TooLongError{Length: int64(len(e.Data)), Head: e.Data[:min(len(e.Data), headSize)]}
		}
	}
}

// field takes in one line.
func (e *Event) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		e.Name = string(value)
	case "data":
		if e.Data != nil {
			e.Data = append(e.Data, '\n')
		} else {
			e.Data = make([]byte, 0, len(value))
		}
		e.Data = append(e.Data, value...)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			e.ID = string(value)
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			e.Retry = time.Duration(ms) * time.Millisecond
		}
	}
}

// oneBreak makes every end of line that the standard knows (LF, CR, CR LF) an LF,
// without holding back a byte of what has come.
type oneBreak struct {
	r  io.Reader
	cr bool // the last byte was a CR
}

func (o *oneBreak) Read(p []byte) (int, error) {
	for {
		n, err := o.r.Read(p)
		kept := 0
		for _, c := range p[:n] {
			if c == '\n' && o.cr {
				o.cr = false
				continue
			}
			if o.cr = c == '\r'; o.cr {
				c = '\n'
			}
			p[kept] = c
			kept++
		}
		if kept > 0 || err != nil || len(p) == 0 {
			return kept, err
		}
	}
}
