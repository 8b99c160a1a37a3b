package controller

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// Whatever a ledger holds: it is restored without a panic, the history can be
// decided and reported upon and written again, and compacting changes nothing
// of its meaning.
func FuzzRestore(f *testing.F) {
	var kept ledger
	for _, e := range exit(files, "a", 1, time.Hour) {
		kept.Append(newRecord(e, "boot"))
	}
	kept.Append(newRecord(StartFailed{Key: other, Hash: "b", Message: "no", At: t0}, "boot"))
	kept.Append(newRecord(Adopted{Key: other, Instance: recordOf(instance(other, "b", 3), true), At: t0}, "boot"))
	f.Add(bytes.Join(kept.lines, []byte("\n")))
	f.Add([]byte(`{"type":"Forgotten","boot":"boot","event":{"key":{"kind":"Agent","name":"a"}}}`))
	f.Add([]byte(`{"type":"Remembered","boot":"boot","event":{"key":{"kind":"Agent","name":"a"},"crashes":-1,"instances":[{"main":{"pid":-1}}]}}`))
	f.Add([]byte("{\"type\":\"Started\"}\n{\"type\":\"Gone\",\"event\":7}\n\x00\n[]\n{"))
	f.Fuzz(func(t *testing.T, content []byte) {
		lines := bytes.Split(content, []byte("\n"))
		h := Restore("boot", slices.Values(lines))
		var again ledger
		for _, e := range h.Records() {
			again.Append(newRecord(e, "boot"))
		}
		if got := records(t, Restore("boot", slices.Values(again.lines))); got != records(t, h) {
			t.Errorf("written and restored to another meaning:\n%s\n%s", records(t, h), got)
		}
		if got := records(t, Restore("boot", slices.Values(Compact("boot", slices.Clone(lines))))); got != records(t, h) {
			t.Errorf("compacted to another meaning:\n%s\n%s", records(t, h), got)
		}
		w := world(wants(entry(files, "a")), runs(instance(files, "a", 1)), func(w *World) { w.History = h })
		Report(w, Decide(w))
	})
}

// records is a history as text.
func records(t *testing.T, h History) string {
	text, err := json.Marshal(h.Records())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
