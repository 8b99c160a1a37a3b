package controller

import (
	"encoding/json"
	"slices"
)

// Compact gives the lines that restore the same history as the given ones: what
// a ledger that has grown too long is replaced by. It depends on its arguments
// alone.
func Compact(boot string, lines [][]byte) [][]byte {
	var kept [][]byte
	for _, e := range Restore(boot, slices.Values(lines)).Records() {
		line, err := json.Marshal(newRecord(e, boot))
		if err != nil {
			continue // never: a record came from JSON
		}
		kept = append(kept, line)
	}
	return kept
}
