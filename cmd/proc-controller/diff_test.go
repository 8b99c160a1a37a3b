package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// A file that a manifest names is compared by its content, which is never shown.
func TestDiffOfContents(t *testing.T) {
	dir := t.TempDir()
	text := "apiVersion: " + spec.APIVersion + "\nkind: Agent\nmetadata: {name: a}\nspec:\n  command: [x]\n" +
		"  env: [{name: TOKEN, valueFrom: {file: {path: token}}}]\n  envFrom: [{file: {path: more.env, optional: true}}]\n"
	want := spec.Decode("a.yaml", []byte(text))[0].Object
	running := api.Object{APIVersion: want.APIVersion, Kind: want.Kind, Metadata: want.Metadata, Spec: &want.Spec}
	running.Status.Hash = spec.HashOf(want, map[string][]byte{"token": []byte("hunter1")})
	for _, tt := range []struct{ token, more, want string }{
		{"hunter1", "", ""},
		{"hunter2", "", "    restart  content of more.env or token: changed\n"},
		{"hunter1", "A=b\n", "    restart  content of more.env or token: changed\n"},
	} {
		for name, content := range map[string]string{"token": tt.token, "more.env": tt.more} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c := comparison{dir: dir, running: byKey([]api.Object{running})}
		c.object(want, "a.yaml", 1)
		got := ""
		for i := range c.found {
			got += c.found[i].text(terminal{})
		}
		if !strings.HasSuffix(got, tt.want) || tt.want == "" && got != "" || strings.Contains(got, "hunter") {
			t.Errorf("%+v: got %q", tt, got)
		}
	}
}

// What differs is shown of values that are too long to be shown whole.
func TestDiffOfLongValues(t *testing.T) {
	long := strings.Repeat("0123456789", 10)
	for _, tt := range []struct{ was, is, want string }{
		{`"a"`, `"b"`, `: "a" -> "b"`},
		{"", `"b"`, `: not set -> "b"`},
		{long + "a", long + "b", ": …" + long[80:] + "a -> …" + long[80:] + "b"},
		{long + "a" + long, long, ": …" + long[80:] + "a" + long[:38] + "… -> …" + long[80:]},
		{"a" + long, "b" + long, ": a" + long[:58] + "… -> b" + long[:58] + "…"},
		{"", long, ": not set -> " + long[:59] + "…"},
		{strings.Repeat("ä", 100) + "x", strings.Repeat("ä", 100) + "y", ": …" + strings.Repeat("ä", 20) + "x -> …" + strings.Repeat("ä", 20) + "y"},
	} {
		if got := change(spec.FieldChange{Was: []byte(tt.was), Is: []byte(tt.is)}); got != tt.want {
			t.Errorf("%s -> %s:\n got %s\nwant %s", tt.was, tt.is, got, tt.want)
		}
	}
}
