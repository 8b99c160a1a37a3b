package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
)

// FuzzEventStream: whatever comes, the reader ends, within its bound, and gives
// no event that is longer than what was read.
func FuzzEventStream(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "event: endpoint\r\ndata: /m\r\n\r\n", "data\rdata: b\r\r", ": c\n\ndata:\n\n", "data: a\ndata: b\n\n", "data: x",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		const limit = 1 << 10
		r := newEventReader(bytes.NewReader(stream), limit)
		for range limit + 1 {
			e, err := r.Read()
			if err != nil {
				return
			}
			if len(e.Data) > min(len(stream), limit) {
				t.Fatalf("%q: %+v", stream, e)
			}
		}
		t.Fatalf("%q has more events than bytes", stream)
	})
}

// FuzzAnswer: a result is never taken from an answer to another request, and
// what is wrong is said in one line.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"a\nb"}}`,
		`{"jsonrpc":"2.0","method":"ping","id":1}`, `{"jsonrpc":"2.0","id":"1","result":null}`, `[]`, `{`, "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		result, err := parseAnswer(message, 1)
		if err != nil {
			isLine(t, err)
			return
		}
		var m map[string]any // which tells "id" from "ID"
		if err := json.Unmarshal(message, &m); err != nil || m["id"] != 1.0 || !json.Valid(result) {
			t.Fatalf("%q was taken for an answer: %s", message, result)
		}
		if _, err := parseInitialized(result); err != nil {
			isLine(t, err)
		}
	})
}

// FuzzCard: a card that is taken has all that it needs.
func FuzzCard(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","version":"1","url":"u"}`, `{"name":"a","version":"1","supportedInterfaces":[{},{"url":"u"}],"skills":[1,{}]}`,
		`{"name":1}`, `null`, `{`, "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		card, err := parseCard(page)
		if err != nil {
			isLine(t, err)
			return
		}
		if card.Skills < 0 || len(card.Name) > maxQuoted || strings.ContainsFunc(card.Name+card.Version+card.URL, unicode.IsControl) && !strings.Contains(card.Name+card.Version+card.URL, "\t") {
			t.Fatalf("%q: %+v", page, card)
		}
	})
}

// isLine checks that a failure is one bounded line that a terminal can show.
func isLine(t *testing.T, err error) {
	t.Helper()
	line := err.Error()
	bad := func(r rune) bool { return unicode.IsControl(r) && r != '\t' }
	if len(line) > 1000 || strings.ContainsFunc(line, bad) && !errors.Is(err, errNotOurs) {
		t.Fatalf("not one line: %q", line)
	}
}
