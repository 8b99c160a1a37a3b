package rpc

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestLineReader(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	in := "one\n\r\ntwo\r\n" + long + "\n" + long + long + "\nthree\n" + long + "x\n\nhalf"
	type read struct{ line, err string }
	want := []read{
		{"one", ""},
		{"", ""},
		{"two", ""},
		{long, ""},
		{"", "a line of 200001 bytes is longer than is taken"},
		{"three", ""},
		{long + "x", ""},
		{"", ""},
		{"half", io.ErrUnexpectedEOF.Error()},
		{"", io.EOF.Error()},
		{"", io.EOF.Error()},
	}
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(in), "halves": iotest.HalfReader(strings.NewReader(in))} {
		l := NewLineReader(r, 100_001)
		for i, w := range want {
			line, err := l.Read()
			got := read{line: string(line)}
			if err != nil {
				got.err = err.Error()
			}
			if got != w {
				t.Fatalf("%s: read %d: %.40q (%d) %q, want %.40q (%d) %q", name, i, got.line, len(got.line), got.err, w.line, len(w.line), w.err)
			}
		}
	}
}

func TestTooLongKeepsTheHead(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":12,"result":"` + strings.Repeat("x", 1<<20) + "\"}\nnext\n"
	l := NewLineReader(strings.NewReader(in), 1000)
	_, err := l.Read()
	var long *TooLongError
	if !errors.As(err, &long) || !strings.HasPrefix(string(long.Head), `{"jsonrpc":"2.0","id":12,`) || len(long.Head) > headSize {
		t.Fatalf("error %v, head of %d bytes", err, len(long.Head))
	}
	if line, err := l.Read(); string(line) != "next" || err != nil {
		t.Errorf("then %q, %v", line, err)
	}
}

func TestEventReader(t *testing.T) {
	in := "\ufeff: hello\n\nid: 1\ndata\nretry: 1500\n\nevent: message\rdata:{\"a\":\rdata:  1}\r\rid:2\r\ndata: x\r\n\r\nevent: lost\n\nid: a\x00b\nretry: -1\n\nunknown: 1\ndata: y\n\ndata: cut off\n"
	want := []Event{
		{ID: "1", Data: []byte{}, Retry: 1500 * time.Millisecond},
		{Name: "message", Data: []byte("{\"a\":\n 1}")},
		{ID: "2", Data: []byte("x")},
		{Data: []byte("y")},
	}
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(in), "bytes": iotest.OneByteReader(strings.NewReader(in))} {
		events := NewEventReader(r, 1000)
		for i, w := range want {
			e, err := events.Read()
			if err != nil || !sameEvent(e, w) {
				t.Errorf("%s: event %d: %+v %v, want %+v", name, i, e, err, w)
			}
		}
		if e, err := events.Read(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: at the end %+v, %v", name, e, err)
		}
	}
}

func TestIsMessage(t *testing.T) {
	for _, tt := range []struct {
		e    Event
		want bool
	}{
		{Event{Data: []byte("{}")}, true},
		{Event{Name: "message", Data: []byte("{}")}, true},
		{Event{Name: "endpoint", Data: []byte("/m")}, false},
		{Event{ID: "1", Data: []byte{}}, false},
		{Event{ID: "1"}, false},
	} {
		if got := tt.e.IsMessage(); got != tt.want {
			t.Errorf("%+v: %v", tt.e, got)
		}
	}
}

func TestEventTooLarge(t *testing.T) {
	for _, in := range []string{
		"data: " + strings.Repeat("x", 2000) + "\n\ndata: y\n\n",
		strings.Repeat("data: xxxxxxxxx\n", 200) + "\ndata: y\n\n",
	} {
		r := NewEventReader(strings.NewReader(in), 1000)
		var long *TooLongError
		if e, err := r.Read(); !errors.As(err, &long) {
			t.Errorf("%.20q: %+v, %v", in, e, err)
		}
	}
}

func sameEvent(a, b Event) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Retry == b.Retry && bytes.Equal(a.Data, b.Data) && (a.Data == nil) == (b.Data == nil)
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbc\r\n\nxxxxxxxxxxxxxxxxxxxxxx\nd"), 10)
	f.Fuzz(func(t *testing.T, b []byte, limit int) {
		limit &= 0xffff
		l := NewLineReader(bytes.NewReader(b), limit)
		for range len(b) + 2 {
			line, err := l.Read()
			var long *TooLongError
			if err != nil && !errors.As(err, &long) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return
			}
			if bytes.IndexByte(line, '\n') >= 0 || len(line) > limit+2 && len(line) > readSize {
				t.Fatalf("a line of %d bytes with a limit of %d", len(line), limit)
			}
		}
		t.Fatal("it does not come to an end")
	})
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("id: 1\ndata: {}\n\n"))
	f.Add([]byte("data: a\r\rdata\ndata:\n\nretry: 7\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewEventReader(bytes.NewReader(b), 1<<10)
		for range len(b) + 1 {
			e, err := r.Read()
			var long *TooLongError
			if errors.As(err, &long) {
				continue
			}
			if err != nil {
				return
			}
			again, err := NewEventReader(bytes.NewReader(e.Append(nil)), 1<<20).Read()
			if err != nil || !sameEvent(e, again) {
				t.Fatalf("%+v became %q and then %+v (%v)", e, e.Append(nil), again, err)
			}
		}
		t.Fatal("it does not come to an end")
	})
}
