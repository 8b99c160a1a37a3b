package bridge

import (
	"strconv"
	"sync"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// stream is what a client is told in answer to one POST, or on its GET: messages in
// their order, of which the last ones are kept, so that who was cut off can go on
// where it was. Putting something in never waits. It may be used by many goroutines.
type stream struct {
	id  string // unique; event ids begin with it
	lim limits

	mu      sync.Mutex
	kept    [][]byte
	first   int // number of the first one that is kept
	bytes   int // of those
	want    int // answers that are still to come; below zero for a stream without an end
	answers int // that came
	code    int // of the error of the last answer, 0 for a result
	ended   bool
	sent    int           // number behind the last message that was written to a client
	changed chan struct{} // closed and replaced when something has changed
	reader  chan struct{} // closed when another takes over from the one who reads; nil for nobody
}

func newStream(id string, want int, lim limits) *stream {
	return &stream{id: id, lim: lim, want: want, changed: make(chan struct{})}
}

// put adds a message, which is not copied. A stream that has ended takes none.
func (s *stream) put(data []byte) (taken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.putLocked(data)
	}
	return !s.ended
}

// finish adds an answer; with the last one that is due the stream ends.
func (s *stream) finish(data []byte, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.answers, s.code = s.answers+1, code
	s.want--
	s.ended = s.want == 0
	s.putLocked(data)
}

// end ends the stream without an answer.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		s.tellLocked()
	}
}

func (s *stream) putLocked(data []byte) {
	s.kept, s.bytes = append(s.kept, data), s.bytes+len(data)
	for len(s.kept) > 1 && (len(s.kept) > s.lim.streamCount || s.bytes > s.lim.streamBytes) {
		s.bytes -= len(s.kept[0])
		s.kept[0] = nil
		s.kept, s.first = s.kept[1:], s.first+1
	}
	s.tellLocked()
}

func (s *stream) tellLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// view is what a reader finds.
type view struct {
	messages [][]byte
	next     int  // number behind them
	lost     bool // some before them are not kept any more
	ended    bool // nothing comes after them
	changed  <-chan struct{}
}

// from gives what there is from a number on.
func (s *stream) from(number int) view {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := view{ended: s.ended, changed: s.changed, lost: number < s.first, next: s.first + len(s.kept)}
	if skip := max(number-s.first, 0); skip < len(s.kept) {
		v.messages = append(v.messages, s.kept[skip:]...)
	}
	return v
}

// whole gives all answers if they are all that there ever was, and all that there
// will be: then no stream is needed for them.
func (s *stream) whole() (answers [][]byte, code int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ok = s.ended && s.first == 0 && s.answers == len(s.kept) && s.answers > 0
	return s.kept, s.code, ok
}

// begun says whether something came that is no answer, or the stream has ended.
func (s *stream) begun() (something bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended || s.first+len(s.kept) > s.answers, s.changed
}

// attach makes the caller the one who reads. With take it takes over from another one.
// The channel is closed when someone takes over from the caller.
func (s *stream) attach(take bool) (taken chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != nil {
		if !take {
			return nil, false
		}
		close(s.reader)
	}
	s.reader = make(chan struct{})
	return s.reader, true
}

// detach ends what attach began.
func (s *stream) detach(taken chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == taken {
		s.reader = nil
	}
}

// wrote notes how far a client has come, for one that comes again without saying so.
func (s *stream) wrote(next int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = max(s.sent, next)
}

func (s *stream) unsent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

func (s *stream) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// eventID names the place behind the message of a number.
func (s *stream) eventID(number int) string { return s.id + "_" + strconv.Itoa(number) }

// answered and progressed make a stream the receiver of calls.

func (s *stream) answered(c *call, m rpc.Message) {
	if c.adapt != nil {
		m = c.adapt(m)
	}
	code := 0
	if m.Error != nil {
		code = rpc.ParseError(m.Error).Code
	}
	s.finish(m.Bytes(), code)
}

func (s *stream) progressed(_ *call, m rpc.Message) { s.put(m.Bytes()) }
