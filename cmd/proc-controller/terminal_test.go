package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// environ is an environment of a test.
type environ map[string]string

func (e environ) get(name string) string { return e[name] }

func TestColour(t *testing.T) {
	for _, tt := range []struct {
		env      environ
		terminal bool
		want     bool
	}{
		{environ{"TERM": "xterm"}, true, true},
		{environ{"TERM": "xterm"}, false, false},
		{environ{}, true, false},
		{environ{"TERM": "dumb"}, true, false},
		{environ{"TERM": "xterm", "NO_COLOR": "1"}, true, false},
		{environ{"TERM": "xterm", "NO_COLOR": ""}, true, true},
		{environ{"TERM": "xterm", "CLICOLOR": "0"}, true, false},
		{environ{"CLICOLOR_FORCE": "1"}, false, true},
		{environ{"CLICOLOR_FORCE": "0", "TERM": "xterm"}, false, false},
		{environ{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, true, false},
	} {
		if got := wantsColour(tt.terminal, tt.env.get); got != tt.want {
			t.Errorf("%v, terminal %v: colour is %v", tt.env, tt.terminal, got)
		}
	}
	if it := terminalOf(&bytes.Buffer{}, environ{"TERM": "xterm"}.get); it.is || it.colour {
		t.Errorf("a buffer passes for %+v", it)
	}
	if got := (terminal{}).paint(red, "x"); got != "x" {
		t.Errorf("without colour: %q", got)
	}
	if got := (terminal{colour: true}).paint(red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("with colour: %q", got)
	}
}

func TestWrapped(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"one":                      "one",
		"one two three":            "one two|three",
		"a-word-that-is-too-long":  "a-word-that-is-too-long",
		"x a-word-that-is-long yz": "x|a-word-that-is-long|yz",
		"ünï cödé":                 "ünï cödé",
	} {
		if got := strings.Join(wrapped(in, 8), "|"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// sample is a table with a last column of words.
func sample() *table {
	t := &table{}
	t.add("NAME", "STATUS", "REASON")
	t.add("files", "Running", "")
	t.add("web", "BackOff", "exit code 1: cannot find the configuration in /etc/web")
	return t
}

func TestTableInATerminal(t *testing.T) {
	for columns, want := range map[int]string{
		0: `
NAME   STATUS   REASON
files  Running  -
web    BackOff  exit code 1: cannot find the configuration in /etc/web
`,
		44: `
NAME   STATUS   REASON
files  Running  -
web    BackOff  exit code 1: cannot find the
                configuration in /etc/web
`,
		30: `
NAME   STATUS   REASON
files  Running  -
web    BackOff  
    exit code 1: cannot find
    the configuration in
    /etc/web
`,
		15: `
NAME files
STATUS Running

NAME web
STATUS BackOff
REASON
  exit code 1:
  cannot find
  the
  configuration
  in /etc/web

`,
	} {
		var b strings.Builder
		if err := sample().writeFor(&b, terminal{}, columns); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want[1:], b.String()); d != "" {
			t.Errorf("%d columns (-want +got):\n%s", columns, d)
		}
	}
}

func TestTableGoesOn(t *testing.T) {
	tab := &table{}
	tab.add("NAME", "STATUS")
	tab.add("files", "Running")
	var b strings.Builder
	for range 2 {
		if err := tab.write(&b); err != nil {
			t.Fatal(err)
		}
		tab.add("web", "Stopping")
	}
	if d := cmp.Diff("NAME   STATUS\nfiles  Running\nweb    Stopping\n", b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestTableTints(t *testing.T) {
	tab := sample()
	tab.tint = func(column, cell string) string {
		if column == "STATUS" && cell == "BackOff" {
			return red
		}
		return ""
	}
	var b strings.Builder
	if err := tab.writeFor(&b, terminal{colour: true}, 0); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "web    \x1b[31mBackOff\x1b[0m  exit") || strings.Count(got, "\x1b") != 2 {
		t.Errorf("%q", got)
	}
}

func TestProgressElsewhere(t *testing.T) {
	var b strings.Builder
	p := newProgress(&b)
	p.show([]progressLine{{name: "mcp/files", text: "starting"}, {name: "mcp/web", text: "waits\nfor files"}})
	p.show([]progressLine{{name: "mcp/files", text: "starting"}, {name: "mcp/web", text: "starting"}})
	p.clear()
	if d := cmp.Diff("mcp/files: starting\nmcp/web: waits; for files\nmcp/web: starting\n", b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestProgressBlock(t *testing.T) {
	p := &progress{}
	lines := []progressLine{
		{name: "mcpserver/with-a-long-name", text: "waits for port 8080, which pid 4711 (python3) holds"},
		{name: "mcp/b", text: "ready"},
		{name: "mcp/c", text: "ready"},
		{name: "mcp/d", text: "ready"},
	}
	want := []string{"mcpserver…  waits f…", "mcp/b       ready", "and 2 more"}
	if d := cmp.Diff(want, p.lay(lines, 20, 4)); d != "" {
		t.Errorf("20 columns, 4 rows (-want +got):\n%s", d)
	}
	for _, line := range p.lay(lines, 20, 2) {
		if n := len([]rune(line)); n > 20 {
			t.Errorf("%q is %d wide", line, n)
		}
	}
}

// A block is written once, and again when something in it changes.
func TestProgressIsWrittenOnChange(t *testing.T) {
	var b strings.Builder
	p := &progress{out: &b, moves: true}
	for _, text := range []string{"starting", "starting", "ready", "ready"} {
		p.show([]progressLine{{name: "mcp/files", text: text}})
	}
	p.clear()
	p.clear()
	const off, on, rest = wrapOff, wrapOn, clearRest
	want := off + "\rmcp/files  starting" + clearLine + "\n" + rest + on +
		off + "\x1b[1A\rmcp/files  ready" + clearLine + "\n" + rest + on +
		off + "\x1b[1A\r" + rest + on
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
