//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rendered is what a terminal shows after a text, line by line: it knows what the
// progress of a verb is written with (ECMA-48), and lines that are not too wide.
func rendered(t *testing.T, text string) []string {
	t.Helper()
	lines, row, column := []string{""}, 0, 0
	for len(text) > 0 {
		switch {
		case strings.HasPrefix(text, "\x1b["):
			end := strings.IndexFunc(text[2:], func(r rune) bool { return r >= '@' && r <= '~' }) + 2
			if end < 2 {
				t.Fatalf("a sequence has no end: %q", text)
			}
			switch argument := text[2:end]; text[end] {
			case 'A':
				n, err := strconv.Atoi(argument)
				must(t, err)
				row = max(row-n, 0)
			case 'K':
				lines[row] = lines[row][:min(column, len(lines[row]))]
			case 'J':
				lines[row] = lines[row][:min(column, len(lines[row]))]
				lines = lines[:row+1]
			case 'h', 'l': // how it wraps
			default:
				t.Fatalf("%q is not known here", text[:end+1])
			}
			text = text[end+1:]
			continue
		case text[0] == '\r':
			column = 0
		case text[0] == '\n':
			row, column = row+1, 0
			if row == len(lines) {
				lines = append(lines, "")
			}
		default:
			line := lines[row] + strings.Repeat(" ", max(column-len(lines[row]), 0))
			lines[row] = line[:column] + text[:1] + line[min(column+1, len(line)):]
			column++
		}
		text = text[1:]
	}
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// In a terminal the progress of a wait is written over, and at the end it is away;
// what was said before and the result stand there, each line of it.
func TestProgressLeavesTheResult(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file, deaf, enough := filepath.Join(r.manifests, "all.yaml"), filepath.Join(r.dir, "deaf"), filepath.Join(r.dir, "enough")
	stubborn := manifest("Agent", "stubborn", "command: [sh, -c, 'trap \"\" TERM; : > "+deaf+"; until [ -e "+enough+" ]; do sleep 0.05; done']\nterminationGracePeriodSeconds: 600")
	r.write("all.yaml", stubborn+"---\n"+agent("willing"))
	r.start()
	eventually(t, soon, "it ignores SIGTERM", func() error { _, err := os.Stat(deaf); return err })
	r.running("agent/willing")
	shows := func(s *screen, code int, last string, want ...string) {
		t.Helper()
		got := rendered(t, s.ends(code, last))
		for i, line := range got {
			got[i], _, _ = strings.Cut(line, " after 3s: ")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("on the screen (-want +got):\n%s\nof %q", diff, s.text())
		}
	}
	plain := []string{"NO_COLOR=1"}

	s := r.inTerminal(t, 300, plain, "suspend", "agent/stubborn", "--timeout", "3s")
	shows(s, 1, "is not suspended after",
		"agent/stubborn suspended in "+file,
		"proc-controller: agent/stubborn is not suspended")

	s = r.inTerminal(t, 300, plain, "delete", "agent/stubborn", "agent/willing")
	s.shows(", with pid ")
	must(t, os.WriteFile(enough, nil, 0o644))
	shows(s, 0, "agent/willing is gone",
		"agent/stubborn deleted",
		"agent/willing deleted",
		"agent/stubborn is gone",
		"agent/willing is gone")
}
