package clients

import (
	"bytes"
	"testing"

	"github.com/proc-controller/proc-controller/spec"
)

// Whatever comes in, what comes out are valid manifests or an error.
func FuzzParse(f *testing.F) {
	for _, s := range []string{claudeDesktop, claudeCode, vscodeFile, proc} {
		f.Add("mcp.json", []byte(s))
		f.Add("Procfile", []byte(s))
	}
	f.Fuzz(checkParse)
}

func checkParse(t *testing.T, file string, data []byte) {
	c, err := Parse(file, data)
	if err != nil {
		return
	}
	all, _, err := c.Workloads(Options{Folder: "/src", Secrets: ".secrets"})
	if err != nil {
		return
	}
	for _, w := range all {
		for _, d := range spec.Decode("x", w.Manifest) {
			if d.Key != w.Key {
				t.Fatalf("key %s, want %s:\n%s", d.Key, w.Key, w.Manifest)
			}
		}
	}
}

// fuzzClient has the file of a client read, and entries put into it and taken out
// again: what is left is the file, to the byte.
func fuzzClient(f *testing.F, name string) {
	c := Named(name)
	for _, text := range seeds(c) { // small ones: a fuzzer takes long to make large ones small
		f.Add([]byte(text), false)
		f.Add([]byte(text), true)
	}
	file := map[string]string{"codex": "config.toml", "goose": "config.yaml", "claude-code": ".claude.json"}[name]
	f.Fuzz(func(t *testing.T, data []byte, door bool) {
		checkParse(t, file, data)
		ch, err := c.Merge(data, &Record{}, c.entries(door), false)
		if err != nil {
			return
		}
		again, err := c.Merge(ch.Text, ch.Record, c.entries(door), false)
		if err != nil || !bytes.Equal(again.Text, ch.Text) {
			t.Fatalf("the second time it is another: %v\n%q\n%q", err, ch.Text, again.Text)
		}
		back, err := c.Strip(ch.Text, ch.Record, nil, false)
		if err != nil || !bytes.Equal(back.Text, data) {
			t.Fatalf("%v: not what it was:\n%q\n%q\n%q", err, data, ch.Text, back.Text)
		}
	})
}

func FuzzClaudeDesktop(f *testing.F) { fuzzClient(f, "claude-desktop") }
func FuzzClaudeCode(f *testing.F)    { fuzzClient(f, "claude-code") }
func FuzzCursor(f *testing.F)        { fuzzClient(f, "cursor") }
func FuzzVSCode(f *testing.F)        { fuzzClient(f, "vscode") }
func FuzzWindsurf(f *testing.F)      { fuzzClient(f, "windsurf") }
func FuzzZed(f *testing.F)           { fuzzClient(f, "zed") }
func FuzzCodex(f *testing.F)         { fuzzClient(f, "codex") }
func FuzzGemini(f *testing.F)        { fuzzClient(f, "gemini") }
func FuzzGoose(f *testing.F)         { fuzzClient(f, "goose") }
func FuzzOpenCode(f *testing.F)      { fuzzClient(f, "opencode") }
