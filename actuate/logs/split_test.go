package logs

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// together puts pieces back together, and objects to what is out of place.
func together(t *testing.T, data []byte, cut int) []byte {
	t.Helper()
	var s splitter
	var out []byte
	give := func(p piece) error {
		if len(p.text) > maxPiece {
			t.Fatalf("a piece of %d bytes", len(p.text))
		}
		if int(p.start) > len(data) || !bytes.HasPrefix(data[p.start:], p.text) {
			t.Fatalf("%q is not at %d", p.text, p.start)
		}
		if bytes.IndexByte(p.text, '\n') >= 0 {
			t.Fatalf("an end of a line inside %q", p.text)
		}
		if out = append(out, p.text...); !p.more {
			out = append(out, '\n')
		}
		return nil
	}
	for offset := 0; offset < len(data); offset += cut {
		part := data[offset:min(len(data), offset+cut)]
		if err := s.feed(part, int64(offset), give); err != nil {
			t.Fatal(err)
		}
	}
	if s.pending() {
		if err := s.end(give); err != nil {
			t.Fatal(err)
		}
		out = out[:len(out)-1] // it had no end
	}
	return out
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("one\ntwo\n\nthree"), 2, 1)
	f.Add([]byte("\n\n"), 1, 1)
	f.Add([]byte("é\x00\xff\r\n"), 3, 30_000)
	f.Fuzz(func(t *testing.T, data []byte, cut, times int) {
		data = bytes.Repeat(data, min(max(times, 1), 1<<20/(len(data)+1)+1))
		if got := together(t, data, min(max(cut, 1), 1<<20)); !bytes.Equal(got, data) {
			t.Errorf("%d bytes have become %d", len(data), len(got))
		}
	})
}

func TestLongLinesAreCutBetweenCharacters(t *testing.T) {
	var s splitter
	line := []byte("x" + strings.Repeat("€", maxPiece) + "\n")
	n := 0
	err := s.feed(line, 0, func(p piece) error {
		if n++; !utf8.Valid(p.text) || p.more != (len(p.text) > maxPiece/2) {
			t.Errorf("piece %d of %d bytes, more %v, valid %v", n, len(p.text), p.more, utf8.Valid(p.text))
		}
		return nil
	})
	if err != nil || n != 4 || cap(s.rest) > 4*len(line) {
		t.Errorf("%d pieces, %v", n, err)
	}
}

func FuzzTailOffset(f *testing.F) {
	f.Add([]byte("one\ntwo\n\nthree"), 2, 0)
	f.Add([]byte("one\n"), 1, 2)
	f.Fuzz(func(t *testing.T, data []byte, n, least int) {
		n, least = max(n, 0)%1000, max(least, 0)%(len(data)+1)
		rest := data[least:]
		lines := bytes.SplitAfter(rest, []byte("\n"))
		if len(lines[len(lines)-1]) == 0 {
			lines = lines[:len(lines)-1]
		}
		want := len(data) - len(bytes.Join(lines[max(0, len(lines)-n):], nil))
		if got := tailOffset(bytes.NewReader(data), int64(least), int64(len(data)), n); got != int64(want) {
			t.Errorf("the last %d lines of %q from %d on begin at %d, not %d", n, data, least, want, got)
		}
	})
}

func TestTailOffsetOfMoreThanIsReadAtOnce(t *testing.T) {
	data := bytes.Repeat([]byte(strings.Repeat("x", 99)+"\n"), 5000)
	for _, n := range []int{1, 655, 656, 4999, 5000, 6000} {
		want := max(0, len(data)-n*100)
		if got := tailOffset(bytes.NewReader(data), 0, int64(len(data)), n); got != int64(want) {
			t.Errorf("%d lines: %d, want %d", n, got, want)
		}
	}
}
