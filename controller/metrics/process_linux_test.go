package metrics

import (
	"os"
	"testing"
)

// A stat as proc_pid_stat(5) has it, of a process whose name looks like more fields.
func TestParseOwnStat(t *testing.T) {
	const text = "4711 (a) b (c) S 1 4711 4711 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 12345 1000000 30 18446744073709551615 1 1\n"
	want := ownStat{cpu: 3, start: 123.45, threads: 9, virtual: 1000000, resident: 30 * 4096}
	if got, ok := parseOwnStat([]byte(text), 4096); !ok || got != want {
		t.Errorf("%+v, %v, want %+v", got, ok, want)
	}
	for _, bad := range []string{"", "4711 (a) S 1 2", "no parenthesis", "1 (a) S 1 4711 4711 0 -1 4194560 100 0 0 0 x 50 0 0 20 0 9 0 12345 1000000 30 1"} {
		if got, ok := parseOwnStat([]byte(bad), 4096); ok {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
	if s, ok := readOwnStat(); !ok || s.resident < float64(os.Getpagesize()) || s.threads < 1 || s.start <= 0 {
		t.Errorf("this process: %+v, %v", s, ok)
	}
}
