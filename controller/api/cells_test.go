package api

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Cells are read as encoding/json reads them, and what it refuses is refused.
func TestCellsAreReadAsJSON(t *testing.T) {
	for _, text := range []string{
		`[]`, `[[]]`, `[["a","b"],["c","d"]]`, ` [ [ "a" , "b" ] ,\n[ "" ] ] `, `[["a]","b\",[","\\"],["\u00e4\ud83d\ude00ä",","]]`,
		`null`, `[null]`, `[["a",1]]`, `[["a"],{}]`, `[["a",null]]`, `{}`, `"x"`, `[["\q"]]`, `[["a"]] x`, `[["a"`, `[["a`, `[["\`, `[`, ``,
		`[["a"],]`, `[["a",]]`, `[["a" "b"]]`, `[["a"]["b"]]`, `[,["a"]]`,
	} {
		var want [][]string
		var got Cells
		wantErr, err := json.Unmarshal([]byte(text), &want), json.Unmarshal([]byte(text), &got)
		if d := cmp.Diff(Cells(want), got); d != "" && wantErr == nil || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: error %v, want %v (-want +got):\n%s", text, err, wantErr, d)
		}
	}
}

// The quick way is taken: each cell has no copy of its own.
func TestCellsMakeLittleGarbage(t *testing.T) {
	text := []byte(`[["Agent","a","Running","1/1"],["Agent","b\\u00e4","Running","1/1"],["Agent","c","Running","1/1"]]`)
	n := testing.AllocsPerRun(100, func() {
		var c Cells
		if c.UnmarshalJSON(text) != nil || len(c) != 3 {
			t.Fatal(c)
		}
	})
	if n > 10 {
		t.Errorf("%v allocations", n)
	}
}
