package clients

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what comes out into testdata")

// endpoints are servers that run: an open one, one that wants a token, and one that
// speaks SSE.
func endpoints() []Endpoint {
	door := func(name string) []string {
		return []string{"/opt/bin/proc-controller", "connect", name, "--manifests", "/srv/my manifests"}
	}
	return []Endpoint{
		{Name: "files", URL: "http://127.0.0.1:3901/mcp", Door: door("files")},
		{Name: "notes-2", URL: "http://127.0.0.1:3902/mcp", TokenFile: "/home/me/.secrets/notes", Door: door("notes-2")},
		{Name: "old", URL: "http://127.0.0.1:3903/sse?a=1&b=<2>", SSE: true, Door: door("old")},
	}
}

func (c *Client) entries(door bool) (all []Entry) {
	for _, e := range endpoints() {
		all = append(all, c.Entry(e, door))
	}
	return all
}

// samples are the files of testdata, by the client that they are of.
func samples(t testing.TB) map[string][]byte {
	files, err := filepath.Glob("testdata/samples/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(f)] = data
	}
	return all
}

// clientOf is the client that a sample is of; nil for what is no client's.
func clientOf(sample string) *Client {
	name, _, _ := strings.Cut(sample, ".")
	return Named(strings.TrimRight(name, "2"))
}

// variants are a text as it is, and as other programs would have written it.
func variants(sample string, data []byte) map[string][]byte {
	dos := bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
	remark := " # not: \"a line\""
	if filepath.Ext(sample) == ".json" {
		remark = " // not: \"a line\""
	}
	return map[string][]byte{
		"a comment at its end": slices.Concat(bytes.TrimRight(data, "\n"), []byte(remark)),

		"as it is":         data,
		"Windows":          dos,
		"mark":             slices.Concat(byteOrderMark, dos),
		"without its end":  bytes.TrimRight(data, "\n"),
		"with blank lines": slices.Concat([]byte("\n\n"), data, []byte("\n\n")),
	}
}

func merged(t *testing.T, c *Client, data []byte, r *Record, want []Entry) *Change {
	t.Helper()
	ch, err := c.Merge(data, r, want, false)
	if err != nil {
		t.Fatalf("%v:\n%s", err, data)
	}
	return ch
}

func stripped(t *testing.T, c *Client, ch *Change, names ...string) *Change {
	t.Helper()
	back, err := c.Strip(ch.Text, ch.Record, names, false)
	if err != nil {
		t.Fatalf("%v:\n%s", err, ch.Text)
	}
	return back
}

// Each sample gets the entries and loses them again. What comes out stands in
// testdata/merged, to be looked at.
func TestMerge(t *testing.T) {
	for sample, data := range samples(t) {
		c := clientOf(sample)
		if c == nil {
			continue
		}
		t.Run(sample, func(t *testing.T) {
			ch := merged(t, c, data, &Record{}, c.entries(false))
			golden(t, "testdata/merged/"+sample, ch.Text)
			for name, text := range variants(sample, data) {
				for _, door := range []bool{false, true} {
					ch := merged(t, c, text, &Record{}, c.entries(door))
					if back := stripped(t, c, ch); !bytes.Equal(back.Text, text) || len(back.Record.Entries)+len(back.Record.Containers) > 0 {
						t.Errorf("%s (door %v): %s%+v", name, door, cmp.Diff(string(text), string(back.Text)), back.Record)
					}
				}
			}
		})
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-update writes it): %s", file, diff)
	}
}

// What a file without anything is given is what export prints.
func TestMergeIntoNothing(t *testing.T) {
	for _, c := range Catalog {
		for _, door := range []bool{false, true} {
			ch := merged(t, c, nil, &Record{}, c.entries(door))
			file := "testdata/printed/" + c.Name
			if door {
				file += "-door"
			}
			golden(t, file, ch.Text)
			if back := stripped(t, c, ch); len(back.Text) > 0 {
				t.Errorf("%s: %q is left", c.Name, back.Text)
			}
		}
	}
}

// seeds are small files in the syntax of a client, each in a way of its own.
func seeds(c *Client) []string {
	switch c.Name {
	case "goose":
		return []string{
			"", "\n", "# yaml\n", "a: 1\n", "a: 1", "a: 1\r\n", "extensions:", "extensions: # none\n", "extensions: {}\n", "extensions: { }\nb: 2",
			"extensions: {a: {type: builtin}}\n", "extensions: { a: {type: builtin} } # c\nb: 2", "extensions:\n- a\n",
			"extensions:\n    # c\n    a:\n        type: builtin\n        # d\n", "---\nextensions:\n  a: {type: builtin}\n...\n",
			"extensions:\n  files: {type: stdio, cmd: x, args: [a], envs: {B: c}}\nb: |\n  x\n\n", "b: &x {c: 1}\nextensions: *x\n",
		}
	case "codex":
		return []string{
			"", "\n", "# toml\n", "a = 1", "a = 1\n\n\n", "a = 1\r\n", "[mcp_servers]\n", "mcp_servers = {}\n", "mcp_servers.a.url = \"x\"\n", "[[a]]\nb = 1979-05-27\n",
			"[mcp_servers.a]\nurl = '''\n[x]\n'''\n# c", "[mcp_servers.files]\ncommand = \"x\"\n[mcp_servers.files.env]\nA = \"b\"\n[b]\n",
		}
	}
	top := c.way[0]
	all := []string{
		"", "\n", "{}", "{ }\n", "{\n}\n", "{\n  // c\n}\n", `{"a": 1, "b": {}}`, `{"a":1,"TOP":{"x":{"url":"y"}}}`, "{\n\t\"TOP\": {}\n}",
		"{\"TOP\": {\"a\": {},},}", "{\"TOP\": {\"a\": {} // c\n}}", "{\"TOP\": {\"a\": {} /* c */ } /* d */ // e\n}", "{\r\n \"TOP\": {\r\n  \"files\": {\"url\": \"x\"}\r\n }\r\n}",
		`{"TOP": null}`, `[]`,
	}
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], "TOP", top)
	}
	return append(all, `{"mcp": {"servers": {"a": {"type": "local"}}}}`)
}

// In whatever order entries are taken out, what is left is what was there.
func TestStripInAnyOrder(t *testing.T) {
	orders := [][]string{{"files", "notes-2", "old"}, {"old", "notes-2", "files"}, {"notes-2", "files", "old"}, {"notes-2", "old", "files"}}
	for _, c := range Catalog {
		done := 0
		for _, text := range seeds(c) {
			for _, order := range orders {
				ch, err := c.Merge([]byte(text), &Record{}, c.entries(false), false)
				if err != nil {
					continue
				}
				for _, gone := range order {
					ch = stripped(t, c, ch, gone)
				}
				if string(ch.Text) != text {
					t.Errorf("%s, %q, %v: %q", c.Name, text, order, ch.Text)
				}
				done++
			}
		}
		if done < 8*len(orders) {
			t.Errorf("%s: only %d files were changed", c.Name, done)
		}
	}
}
